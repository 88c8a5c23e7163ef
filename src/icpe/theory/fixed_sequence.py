"""Exact binomial tests of a success probability, as in a fixed sequence.

The exact test of "the success probability is less than p0" at level alpha counts
successes in a number of trials that was fixed beforehand, and rejects when so many or
more would have probability at most alpha at p0. It rejects exactly when the one-sided
Clopper-Pearson bound is at least p0.

Such tests may be made in a sequence, each at the full level, until one does not pass.
If the order is fixed before any of the trials, then with probability at least
1 - alpha none that passes is one where the hypothesis is true: for one of them to
pass, the first of them in the order must pass (Maurer, Hothorn and Lehmacher 1995;
Bauer 1991). Certificates were made so before they were made by betting.
"""

import functools as ft

import numpy as np
import scipy.stats

from icpe.core.checks import check_confidence
from icpe.core.errors import InvalidParameterError

_MOST_TRIALS = 10**9


@ft.lru_cache
def critical_successes(trials: int, probability: float, confidence: float) -> int:
    """The fewest successes at which the exact test passes; trials + 1 if none do.

    For X ~ Binomial(trials, p) with any p <= probability,
    P(X >= critical_successes) <= 1 - confidence, and no smaller number has this
    property at p = probability.
    """
    _check_test(trials, probability, confidence)
    level = 1.0 - confidence
    count = int(scipy.stats.binom.isf(level, trials, probability))
    while pass_probability(trials, count, probability) > level:
        count += 1
    return count


def pass_probability(trials: int, critical: int, probability: float) -> float:
    """P(X >= critical) for X ~ Binomial(trials, probability)."""
    return float(scipy.stats.binom.sf(critical - 1, trials, probability))


def fewest_trials(probability: float, confidence: float) -> int:
    """The fewest trials with which the exact test can pass at all.

    Without a failure n successes have probability probability^n, which must be at
    most 1 - confidence.
    """
    _check_test(1, probability, confidence)
    trials = int(np.ceil(np.log1p(-confidence) / np.log(probability) - 1e-9))
    return max(1, trials)


def trials_needed(
    truth: float, probability: float, confidence: float, power: float
) -> int | None:
    """Trials with which a success probability `truth` passes with chance `power`.

    The chance does not grow with every single trial, since counts are whole; this is
    a number at which it is at least `power` while with one trial less it is not. None
    if `truth` is not larger than `probability` (no number of trials would do) or is
    so close to it that a billion trials do not suffice.
    """
    _check_test(1, probability, confidence)
    if not truth > probability:
        return None

    def enough(trials: int) -> bool:
        critical = critical_successes(trials, probability, confidence)
        return pass_probability(trials, critical, truth) >= power

    high = fewest_trials(probability, confidence)
    low = high - 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST_TRIALS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_test(trials: int, probability: float, confidence: float) -> None:
    check_confidence(confidence)
    if trials < 1:
        raise InvalidParameterError(f"trials must be at least 1; got {trials}.")
    if not 0.0 < probability < 1.0:
        raise InvalidParameterError(
            f"probability must lie strictly between 0 and 1; got {probability}."
        )
