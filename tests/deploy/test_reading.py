"""Queries and outcomes as people tell them are read as what they are, or refused."""

import numpy as np
import pytest

from icpe.core.errors import InvalidOutcomeError
from icpe.core.spec import TaskSpec
from icpe.deploy.reading import read_outcome, read_query
from icpe.families import BernoulliBandit, BinarySearch, NoisyBinarySearch

SEARCH = BinarySearch(size=8)


@pytest.mark.parametrize(
    "family, possible, named",
    [
        (SEARCH, (-1, 0, 1), "-1 (lower) or 0 (hit) or 1 (higher)"),
        (NoisyBinarySearch(), (-1, 0, 1), "-1 (lower) or 0 (hit) or 1 (higher)"),
        (BernoulliBandit(), (0, 1), "1 (success) or 0 (failure)"),
    ],
)
@pytest.mark.parametrize("impossible", [7.0, [0.3], np.float32(0.999)])
def test_where_outcomes_have_names_only_these_are_taken(
    family, possible, named, impossible
):
    with pytest.raises(InvalidOutcomeError) as caught:
        read_outcome(impossible, family.spec)
    assert str(caught.value) == f"outcome must be {named}; got {impossible!r}."
    for outcome in possible:
        for given in (outcome, float(outcome), [outcome], np.array([outcome], "i8")):
            assert read_outcome(given, family.spec) == [outcome]


def test_names_of_several_numbers_are_matched_as_a_whole():
    thirds = (("low", (1 / 3, 0.0)), ("high", (2 / 3, 1.0)))
    spec = TaskSpec(2, 2, 2, 2, outcome_labels=thirds)
    assert read_outcome([1 / 3, 0], spec)[0] == np.float32(1 / 3)
    with pytest.raises(InvalidOutcomeError, match=r"be \[0.333333, 0\] \(low\) or"):
        read_outcome([1 / 3, 1.0], spec)


@pytest.mark.parametrize("query", [0.5, "left", None, [1]])
def test_a_query_is_a_number(query):
    with pytest.raises(InvalidOutcomeError, match="whole number from 0 to 7"):
        read_query(query, SEARCH.spec, np.ones(8, bool))
    assert read_query(np.int16(7), SEARCH.spec, np.ones(8, bool)) == 7
