"""Exact tests against enumeration, and a sequence of them against brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.fixed_sequence import (
    Rung,
    critical_successes,
    fewest_trials,
    fixed_sequence_test,
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


def test_a_sequence_ends_with_its_first_failure():
    counts = {1.0: 60, 2.0: 60, 3.0: 10, 4.0: 60}
    asked = []

    def successes_at(label):
        asked.append(label)
        return counts[label]

    rungs = fixed_sequence_test(
        list(counts), successes_at, trials=60, probability=0.9, confidence=0.95
    )
    assert rungs == (Rung(1.0, 60, True), Rung(2.0, 60, True), Rung(3.0, 10, False))
    assert asked == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "truths", list(itertools.product([0.45, 0.5, 0.55, 0.8], repeat=3))
)
def test_a_sequence_errs_at_its_level_by_enumeration(truths):
    """Independent rungs, of which those below 0.5 (or at it) must not pass."""
    trials, confidence = 12, 0.9
    critical = critical_successes(trials, 0.5, confidence)
    passing = [pass_probability(trials, critical, truth) for truth in truths]
    wrong = 0.0
    for outcome in itertools.product([True, False], repeat=3):
        chance = math.prod(
            p if passed else 1 - p for p, passed in zip(passing, outcome, strict=True)
        )
        rungs = fixed_sequence_test(
            range(3),
            lambda label, outcome=outcome: trials if outcome[int(label)] else 0,
            trials=trials,
            probability=0.5,
            confidence=confidence,
        )
        wrong += chance * any(r.passed and truths[int(r.label)] <= 0.5 for r in rungs)
    assert wrong <= 1 - confidence


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
