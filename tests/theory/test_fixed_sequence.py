"""Exact tests against enumeration."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.fixed_sequence import (
    critical_successes,
    fewest_trials,
    pass_probability,
    trials_needed,
)
from icpe.theory.intervals import clopper_pearson_lower


def exact_tail(trials, least, probability):
    """P(X >= least) in rational arithmetic."""
    p = Fraction(probability)
    return sum(
        math.comb(trials, x) * p**x * (1 - p) ** (trials - x)
        for x in range(least, trials + 1)
    )


@pytest.mark.parametrize("trials", [1, 5, 29, 60])
@pytest.mark.parametrize("probability", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_critical_number_is_the_smallest_of_the_right_level(
    trials, probability, confidence
):
    critical = critical_successes(trials, probability, confidence)
    level = 1 - Fraction(confidence)
    assert exact_tail(trials, critical, probability) <= level
    assert exact_tail(trials, critical - 1, probability) > level


@pytest.mark.parametrize("trials, probability", [(40, 0.9), (300, 0.99), (1000, 0.7)])
def test_the_test_passes_exactly_when_clopper_and_pearson_bound_it(trials, probability):
    critical = critical_successes(trials, probability, 0.95)
    counts = np.arange(trials + 1)
    bounded = clopper_pearson_lower(counts, trials, 0.95) >= probability
    np.testing.assert_array_equal(bounded, counts >= critical)


def test_the_test_is_of_its_level_for_every_smaller_probability():
    critical = critical_successes(500, 0.9, 0.95)
    p = np.linspace(0.5, 0.9, 101)
    assert stats.binom.sf(critical - 1, 500, p).max() <= 0.05


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99, 0.999])
def test_the_fewest_trials_just_suffice_without_a_failure(probability):
    fewest = fewest_trials(probability, 0.95)
    assert critical_successes(fewest, probability, 0.95) == fewest
    assert critical_successes(fewest - 1, probability, 0.95) == fewest


@pytest.mark.parametrize("truth, probability", [(0.91, 0.9), (0.72, 0.7), (1.0, 0.99)])
def test_the_trials_needed_give_the_power_and_one_less_does_not(truth, probability):
    needed = trials_needed(truth, probability, 0.95, 0.9)
    assert needed is not None
    powers = [
        pass_probability(n, critical_successes(n, probability, 0.95), truth)
        for n in (needed - 1, needed)
    ]
    assert powers[0] < 0.9 <= powers[1]


def test_no_number_of_trials_shows_what_is_not_so():
    assert trials_needed(0.9, 0.9, 0.95, 0.9) is None
    assert trials_needed(0.8, 0.9, 0.95, 0.9) is None
    assert trials_needed(0.9 + 1e-7, 0.9, 0.95, 0.9) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: critical_successes(0, 0.5, 0.95),
        lambda: critical_successes(10, 1.0, 0.95),
        lambda: fewest_trials(0.5, 1.0),
        lambda: trials_needed(0.6, 0.0, 0.95, 0.9),
    ],
)
def test_impossible_input_is_refused(call):
    with pytest.raises(InvalidParameterError, match="must"):
        call()
