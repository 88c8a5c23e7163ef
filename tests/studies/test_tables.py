"""Numbers in tables: where they come from, and what stands where there is none."""

import math

import numpy as np
import pytest
import scipy.stats

from icpe.studies.tables import (
    MISSED,
    NOT_RUN,
    NOT_SERVED,
    UNSERVED,
    Estimate,
    Table,
    all_of,
    average,
    estimate,
    is_at_least,
    is_at_most,
    misses,
    pair,
    queries_at,
    shown,
    verdict,
)


def curve(*points):
    return [{"mean_queries": q, "accuracy": a} for q, a in points]


def test_queries_at_an_accuracy_lie_on_the_line_between_two_points():
    points = curve((10.0, 0.9), (4.0, 0.6), (6.0, 0.8))
    assert queries_at(points, 0.7) == pytest.approx(5.0)
    assert queries_at(points, 0.85) == pytest.approx(8.0)
    assert queries_at(points, 0.8) == pytest.approx(6.0)


def test_equal_accuracies_cost_what_the_cheapest_does():
    points = curve((2.0, 0.5), (3.0, 1.0), (5.0, 1.0))
    assert queries_at(points, 1.0) == pytest.approx(3.0)
    assert queries_at(points, 0.5) == pytest.approx(2.0)


def test_accuracies_that_fall_with_the_queries_are_pooled():
    # Pooling 0.8 and 0.7 gives 0.75 at both, so 0.75 is reached with 4 queries.
    points = curve((2.0, 0.5), (4.0, 0.8), (6.0, 0.7), (8.0, 0.9))
    assert queries_at(points, 0.75) == pytest.approx(4.0)


def test_beyond_the_curve_nothing_is_claimed():
    points = curve((2.0, 0.5), (4.0, 0.8))
    assert queries_at(points, 0.81) is None
    assert queries_at(points, 0.49) is None
    assert queries_at([], 0.9) is None


def test_one_seed_has_the_interval_of_its_measurement():
    found = [{"accuracy": 0.9, "accuracy_interval": [0.8, 0.95]}]
    assert estimate(found, "accuracy") == Estimate(0.9, (0.8, 0.95))
    assert estimate([{"share": 0.5}], "share") == Estimate(0.5, None)
    assert estimate([None], "accuracy") is None
    assert estimate([], "accuracy") is None


def test_several_seeds_have_the_interval_of_student():
    values = [1.0, 2.0, 4.0]
    found = estimate([{"x": v, "x_interval": [0, 9]} for v in values], "x")
    assert found is not None and found.interval is not None
    radius = scipy.stats.t.ppf(0.975, 2) * np.std(values, ddof=1) / math.sqrt(3)
    assert found.value == pytest.approx(7 / 3)
    assert found.interval == pytest.approx((7 / 3 - radius, 7 / 3 + radius))
    assert average([1.0, None]) is None


def test_what_cannot_be_served_is_said_and_meets_no_target():
    found = estimate([{"unserved": "too strict"}], "accuracy")
    assert found is UNSERVED
    assert shown(found, 2) == NOT_SERVED
    assert pair(found, found) == NOT_SERVED
    assert is_at_least(found, 0.1) is False
    assert is_at_most(found, 0.1) is False


def test_what_is_not_known_is_neither_met_nor_missed():
    assert is_at_most(None, 1.0) is None and is_at_least(1.0, None) is None
    assert is_at_most(Estimate(1.0), 1.0) is True and is_at_least(0.9, 1.0) is False
    assert all_of(True, None) is None and all_of(None, False) is False
    assert all_of(True, True) is True
    assert [verdict(v) for v in (True, False, None)] == ["met", MISSED, NOT_RUN]


def test_rows_that_miss_are_named_with_what_was_tried():
    states = {"a": True, "b": False, "c": None, "d": False, "b2": False, "b3": False}
    sentences = misses(
        list(states),
        states.get,
        {"b*": "Longer training did not help.", "b3": "Nor did a wider net."},
    )
    assert sentences == (
        "b; b2 miss the target. Longer training did not help.",
        "d misses the target. Nothing was noted about it yet.",
        "b3 misses the target. Nor did a wider net.",
    )


def test_a_table_is_the_same_in_every_format():
    table = Table(
        "t", "Caption", ("", "x < y"), (("K=4", MISSED), ("K=6", "1, 2")), ("Note.",)
    )
    assert table.markdown() == (
        "**Caption**\n\n|  | x < y |\n| --- | ---: |\n| K=4 | **missed** |\n"
        "| K=6 | 1, 2 |\n\nNote."
    )
    assert table.csv() == ',x < y\nK=4,missed\nK=6,"1, 2"\n'
    page = table.html()
    assert "<th>x &lt; y</th>" in page and '<td class="missed">missed</td>' in page
    assert "<p>Note.</p>" in page
