"""Intervals of nested data, on the random-effects model where the mean is known."""

import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.studies.statistics.bootstrap import hierarchical_bootstrap
from icpe.theory.intervals import mean_interval

MEAN = 2.0


def random_effects(rng, seeds, environments, trajectories):
    """Y = mean + seed + environment + trajectory effect, all of variance 1."""
    return (
        MEAN
        + rng.normal(size=(seeds, 1, 1))
        + rng.normal(size=(seeds, environments, 1))
        + rng.normal(size=(seeds, environments, trajectories))
    )


def covers(interval):
    return interval.low <= MEAN <= interval.high


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 8, 4), (5, 6, 4), (20, 4, 3)])
def test_hierarchical_intervals_cover_where_naive_ones_do_not(shape):
    """The naive bootstrap forgets the levels and resamples all values alike.

    True coverages: hierarchical 0.95, naive 0.40, 0.46 and 0.62. Of 3,000 data sets
    fewer than 0.93 are covered with probability 1e-6 at 0.95.
    """
    rng = np.random.default_rng(0)
    covered = naive = 0
    for i in range(3000):
        values = random_effects(rng, *shape)
        covered += covers(hierarchical_bootstrap(values, resamples=200, seed=i))
        if i < 300:
            alike = values.ravel()
            naive += covers(hierarchical_bootstrap(alike, resamples=200, seed=i))
    assert covered >= 0.93 * 3000
    assert naive < 0.8 * 300


def test_percentile_intervals_cover_when_there_are_many_seeds():
    """About 0.94 with 20 seeds; fewer than 900 of 1,000 have probability 1e-7."""
    rng = np.random.default_rng(1)
    covered = sum(
        covers(
            hierarchical_bootstrap(
                random_effects(rng, 20, 4, 3),
                interval="percentile",
                resamples=200,
                seed=i,
            )
        )
        for i in range(1000)
    )
    assert covered >= 900


def test_the_spread_of_resamples_is_that_of_the_nested_draws():
    """A closed form for drawing every level with replacement.

    With within-variances w (environments) and v (trajectories) of the data, divided
    by the numbers and not one less, Var* = b/m + w/(mK) + v/(mKN).
    """
    values = random_effects(np.random.default_rng(2), 4, 5, 6)
    by_environment = values.mean(2)
    between = by_environment.mean(1).var() / 4
    middle = by_environment.var(axis=1).mean() / 20
    inner = values.var(axis=2).mean() / 120
    found = hierarchical_bootstrap(values, interval="percentile", resamples=40_000)
    # The relative error of a variance from 40,000 draws is 0.7 %: five of them.
    assert found.standard_error**2 == pytest.approx(between + middle + inner, rel=0.035)
    assert found.estimate == pytest.approx(values.mean())


def test_whole_outer_units_give_students_interval_of_their_means():
    values = random_effects(np.random.default_rng(2), 4, 5, 6)
    found = hierarchical_bootstrap(values, resamples=40_000)
    expected = mean_interval(values.mean((1, 2)))
    # The relative error of a deviation from 40,000 draws is 0.35 %: five of them.
    assert found.high - found.low == pytest.approx(
        expected.high - expected.low, rel=0.0175
    )


@pytest.mark.parametrize("kind", ["t", "percentile"])
def test_an_axis_of_one_is_not_resampled(kind):
    values = random_effects(np.random.default_rng(3), 4, 5, 6)
    alone = hierarchical_bootstrap(values[:1], interval=kind)
    below = hierarchical_bootstrap(values[0], interval=kind)
    assert alone.standard_error == pytest.approx(below.standard_error, rel=0.1)
    assert (alone.high - alone.low) == pytest.approx(below.high - below.low, rel=0.1)


def test_equal_values_have_no_spread():
    found = hierarchical_bootstrap(np.full((2, 3), 0.5))
    assert found == (0.5, 0.5, 0.5, 0.0)


def test_any_statistic_can_be_estimated():
    values = np.random.default_rng(4).normal(size=(400, 2))
    found = hierarchical_bootstrap(
        values,
        statistic=lambda drawn: np.median(drawn, axis=(1, 2)),
        interval="percentile",
        resamples=500,
    )
    # The standard error of a median is 1.2533 / sqrt(n), here within a third.
    assert found.standard_error == pytest.approx(1.2533 / np.sqrt(800), rel=0.33)
    assert found.estimate == np.median(values)


def test_parts_that_fit_into_memory_give_the_same_law(monkeypatch):
    values = random_effects(np.random.default_rng(5), 3, 3, 3)
    monkeypatch.setattr("icpe.studies.statistics.bootstrap._NUMBERS_AT_ONCE", 1)
    few = hierarchical_bootstrap(values, resamples=2000)
    monkeypatch.undo()
    many = hierarchical_bootstrap(values, resamples=2000, seed=1)
    assert few.standard_error == pytest.approx(many.standard_error, rel=0.12)


@pytest.mark.parametrize(
    "values, options",
    [
        (np.array(1.0), {}),
        (np.array([1.0]), {}),
        (np.array([1.0, np.nan]), {}),
        (np.array([1.0, 2.0]), {"confidence": 1.0}),
        (np.array([1.0, 2.0]), {"resamples": 1}),
    ],
)
def test_impossible_input_is_refused(values, options):
    with pytest.raises(InvalidParameterError, match="must"):
        hierarchical_bootstrap(values, **options)
