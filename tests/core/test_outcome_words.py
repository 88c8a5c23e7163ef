"""Outcomes in the words of their family."""

import dataclasses

import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.core.spec import TaskSpec, reveal
from icpe.families import BinarySearch, GaussianBandit

PLAIN = TaskSpec(num_queries=2, num_hypotheses=2, outcome_size=2, horizon=3)


def test_labels_and_names_are_used():
    assert BinarySearch().spec.describe_outcome([1.0]) == "higher"
    assert GaussianBandit().spec.describe_outcome(np.array([0.52])) == "reward 0.52"
    assert PLAIN.describe_outcome([1, 2.5]) == "outcome 0 1, outcome 1 2.5"


def test_what_was_not_revealed_is_left_out():
    flags = dataclasses.replace(
        PLAIN, outcome_size=4, outcome_names=("a", "b", "a?", "b?"), outcome_flags=True
    )
    assert flags.describe_outcome([0.0, 3.0, 0.0, 1.0]) == "b 3"
    shown_at_reset = reveal(GaussianBandit().spec, "number of arms", scale=4.0)
    assert shown_at_reset.reset_entries == (1,)
    assert shown_at_reset.describe_outcome([0.5, 0.0]) == "reward 0.5"


def test_a_picture_is_summed_up():
    picture = dataclasses.replace(PLAIN, outcome_shape=(1, 2))
    assert picture.describe_outcome([0.0, 1.0]) == "1 x 2 pixels, 0.50 on average"


def test_entries_that_do_not_exist_are_refused():
    with pytest.raises(InvalidParameterError, match="reset_entries must be numbers"):
        dataclasses.replace(PLAIN, reset_entries=(2,))
