"""Pairwise chi-squared tests, against scipy on counts made by hand."""

import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.studies.statistics.adaptivity import (
    Selections,
    chi_squared_p_value,
    pairwise_p_values,
)

TABLES = [
    [[10, 20, 30], [6, 9, 17]],
    [[50, 1], [2, 40]],
    [[5, 5, 5, 5], [5, 5, 5, 5]],
    [[3, 0, 9], [0, 7, 2]],
    [[1000, 900, 800, 10], [1010, 905, 780, 12]],
]


def scipys_p_value(table):
    _, p_value, *_ = scipy.stats.chi2_contingency(table, correction=False)
    return p_value


@pytest.mark.parametrize("table", TABLES)
def test_the_p_value_is_that_of_scipy(table):
    expected = scipys_p_value(table)
    assert chi_squared_p_value(np.array(table)) == pytest.approx(expected, rel=1e-9)


def test_a_two_by_two_table_has_the_closed_form():
    a, b, c, d = 20, 30, 35, 15
    number = a + b + c + d
    statistic = number * (a * d - b * c) ** 2
    statistic /= (a + b) * (c + d) * (a + c) * (b + d)
    found = chi_squared_p_value(np.array([[a, b], [c, d]]))
    assert found == pytest.approx(scipy.stats.chi2.sf(statistic, 1), rel=1e-9)


@pytest.mark.parametrize("table", [[[3, 0], [4, 0]], [[3, -1], [4, 2]]])
def test_an_empty_column_or_a_negative_count_is_refused(table):
    with pytest.raises(InvalidParameterError, match="table"):
        chi_squared_p_value(np.array(table))


@pytest.mark.parametrize("table", [[[3], [4]], [[3, 1], [0, 0]]])
def test_a_table_that_cannot_be_tested_has_no_p_value(table):
    assert np.isnan(chi_squared_p_value(np.array(table)))


def test_a_query_counts_once_per_episode_and_only_if_it_was_made():
    queries = np.array([[0, 0, 2], [1, -1, -1], [2, 2, 2], [0, 1, 2]])
    truths = np.array([1, 0, 1, 1])
    selections = Selections.of(queries, truths, 4, 3)
    assert selections.counts.tolist() == [[0, 1, 0, 0], [2, 1, 3, 0], [0, 0, 0, 0]]
    assert selections.trajectories.tolist() == [1, 3, 0]
    twice = selections + selections
    assert twice.counts.tolist() == (2 * selections.counts).tolist()
    again = Selections.from_dict(twice.to_dict())
    assert again.counts.tolist() == twice.counts.tolist()
    assert again.trajectories.tolist() == twice.trajectories.tolist()


def test_rare_queries_and_rare_classes_are_left_out():
    counts = np.array([[20, 10, 2, 0], [10, 20, 2, 0], [9, 9, 9, 0], [4, 4, 4, 0]])
    p_values = pairwise_p_values(Selections(counts, np.array([30, 30, 12, 4])))
    two_columns = scipys_p_value(counts[:2, :2])
    three_columns = scipys_p_value(counts[[0, 2], :3])
    assert p_values[0, 1] == pytest.approx(two_columns)
    assert p_values[2, 0] == p_values[0, 2] == pytest.approx(three_columns)
    assert np.isnan(p_values[3]).all() and np.isnan(np.diag(p_values)).all()


def test_equal_habits_are_rarely_told_apart_and_others_always():
    """Under equal laws p > 1e-6 but for a false alarm of about 1e-6 per pair."""
    random = np.random.default_rng(0)
    truths = random.integers(0, 2, 4000)
    equal = random.integers(0, 12, (4000, 1))
    shifted = np.where(truths[:, None] == 1, random.integers(4, 12, (4000, 1)), equal)
    same, other = (
        pairwise_p_values(Selections.of(queries, truths, 12, 2))[0, 1]
        for queries in (equal, shifted)
    )
    assert same > 1e-6 and other < 1e-12
