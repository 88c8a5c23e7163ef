"""Costs at equal accuracy, and the interval of their ratio."""

import numpy as np
import pytest
from scipy.special import ndtri

from icpe.evaluate.compare import (
    CurvePoint,
    cost_at_accuracy,
    ratio_of_costs,
)


def point(accuracy, cost, episodes=1000):
    """So many of the answers right, all at the same cost."""
    return CurvePoint(
        np.arange(episodes) < accuracy * episodes, np.full(episodes, float(cost))
    )


def test_between_two_points_the_cost_is_on_the_line():
    found = cost_at_accuracy([point(0.8, 2), point(0.9, 6)], 0.85)
    assert found is not None and found.cost == pytest.approx(4.0)
    assert found.influence.mean() == pytest.approx(4.0)


def test_the_cheapest_mixture_is_taken():
    points = [point(0.5, 0), point(0.8, 2), point(0.9, 6), point(0.95, 3)]
    found = cost_at_accuracy(points, 0.9)
    # From 0.8 at 2 to 0.95 at 3, not to the dominated 0.9 at 6.
    assert found is not None and found.cost == pytest.approx(2 + 2 / 3)


def test_a_method_that_is_never_so_accurate_has_no_cost():
    assert cost_at_accuracy([point(0.8, 2), point(0.89, 9)], 0.9) is None


def test_a_method_that_is_always_accurate_enough_has_that_of_its_cheapest_point():
    found = cost_at_accuracy([point(0.95, 3), point(0.99, 4)], 0.9)
    assert found is not None and found.cost == 3.0


def test_a_point_that_is_less_accurate_and_dearer_does_not_help():
    found = cost_at_accuracy([point(0.8, 5), point(0.95, 3)], 0.9)
    assert found is not None and found.cost == 3.0


def curve(random, episodes, shift):
    """Two operating points of a method; costs and answers hang together."""
    ease = random.normal(size=episodes) + shift
    return [
        CurvePoint(
            ease + random.normal(size=episodes) < level,
            np.exp(0.5 * ease + 0.3 * level + 0.1 * random.normal(size=episodes)),
        )
        for level in (0.8, 1.8)
    ]


def paired_curves(random, episodes):
    """Two methods on the same episodes, which make both cheap or dear."""
    common = random.normal(size=episodes)
    return [curve(random, episodes, shift * common) for shift in (0.8, 0.5)]


def resampled(points, index):
    return [CurvePoint(point.correct[index], point.cost[index]) for point in points]


def ratio_at(ours, theirs, *, accuracy=0.8):
    costs = [cost_at_accuracy(points, accuracy) for points in (ours, theirs)]
    assert costs[0] is not None and costs[1] is not None
    return ratio_of_costs(costs[0], costs[1])


def test_the_interval_is_that_of_the_bootstrap():
    """The accuracy is interpolated anew in every resample, as a user would."""
    random = np.random.default_rng(0)
    ours, theirs = paired_curves(random, 4000)
    found = ratio_at(ours, theirs)
    values = []
    for _ in range(400):
        index = random.integers(0, 4000, 4000)
        values.append(ratio_at(resampled(ours, index), resampled(theirs, index)).value)
    half = (found.high - found.low) / 2
    # The bootstrap's own error is 1 / sqrt(800) = 3.5 %; three of them, 0.3 %.
    assert half == pytest.approx(ndtri(0.975) * np.std(values), rel=0.11)
    assert (found.high + found.low) / 2 == pytest.approx(found.value)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    truth = ratio_at(*paired_curves(random, 2_000_000)).value
    covered = 0
    for _ in range(400):
        found = ratio_at(*paired_curves(random, 500))
        covered += found.low <= truth <= found.high
    # 95 % of 400 is 380 +- 4.4; five standard deviations, 6e-7.
    assert abs(covered - 380) <= 22


def test_without_interpolation_it_is_the_ratio_of_paired_means():
    """The delta method: variance of (x - r y) / mean(y)."""
    random = np.random.default_rng(2)
    x = random.gamma(2.0, size=3000)
    y = x + random.gamma(2.0, size=3000)
    right = np.ones(3000, bool)
    found = ratio_at([CurvePoint(right, x)], [CurvePoint(right, y)])
    r = x.mean() / y.mean()
    error = np.sqrt(np.var(x - r * y, ddof=1) / 3000) / y.mean()
    assert found.value == pytest.approx(r)
    assert found.high - found.value == pytest.approx(ndtri(0.975) * error)


def test_a_method_compared_with_itself_costs_the_same_for_sure():
    ours, _ = paired_curves(np.random.default_rng(3), 500)
    found = ratio_at(ours, ours)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
