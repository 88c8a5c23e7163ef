"""Evidence against "the success probability is at most p0" by betting.

Whoever bets on successes at the odds of p0 does not expect to gain while the success
probability stays at or below p0. With the stakes of the likelihood ratio of q > p0,
the capital after S successes and F failures is (q/p0)^S ((1-q)/(1-p0))^F, and spreading
the first unit of capital uniformly over q in (p0, 1) gives

    W(S, F) = 1/(1-p0) int_p0^1 (q/p0)^S ((1-q)/(1-p0))^F dq,

a nonnegative supermartingale whenever each trial succeeds with probability at most p0
given the past. By Ville's inequality P(W >= 1/level at any time) <= level (Robbins
1970; Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by
betting"). Unlike a test with a fixed number of trials it may be watched at every trial.

W decreases in p0. With w(q) proportional to q^S (1-q)^F on (p0, 1), integration of
the derivative of q^S (1-q)^(F+1) gives 1/W = E_w[F+1 - S(1-q)/q], which is at least
D = F+1 - S(1-p0)/p0, as the integrand increases in q; and d log W / d p0 has the sign
of D - 1/W. So whatever is rejected at p0 is rejected at every smaller value too, and
{p0 : W < 1/level} is a confidence sequence: with probability at least 1 - level it
holds the success probability at all times and for all p0 together.
"""

import functools as ft

import numpy as np
import scipy.special
from jaxtyping import Float
from numpy.typing import ArrayLike

from icpe.core.errors import InvalidParameterError

_MOST_TRIALS = 10**9


def log_wealth(
    successes: ArrayLike, trials: ArrayLike, *, probability: float
) -> Float[np.ndarray, "..."]:
    """log W: evidence that the success probability was above `probability` at a time.

    Reject "it was at most `probability` at every trial" at a level when this is at
    least log(1 / level). As with every test of this kind, successes from times when
    the success probability was smaller count as well: a sequence that improves late
    needs longer.

    Args:
        successes: number S of successes so far.
        trials: number S + F of trials so far.
        probability: p0, strictly between 0 and 1.
    """
    if not 0.0 < probability < 1.0:
        raise InvalidParameterError(
            f"probability must lie strictly between 0 and 1; got {probability}."
        )
    s = np.asarray(successes, float)
    f = np.asarray(trials, float) - s
    if np.any(s < 0) or np.any(f < 0):
        raise InvalidParameterError(
            "successes must be between 0 and trials; got "
            f"successes={successes} and trials={trials}."
        )
    with np.errstate(divide="ignore"):
        above = np.log(scipy.special.betaincc(s + 1.0, f + 1.0, probability))
    mass = scipy.special.betaln(s + 1.0, f + 1.0) + above
    stakes = s * np.log(probability) + (f + 1.0) * np.log1p(-probability)
    return np.asarray(mass - stakes)


@ft.lru_cache(maxsize=4096)
def fewest_successes(trials: int, *, probability: float, level: float) -> int:
    """The fewest successes whose wealth is at least 1 / level; trials + 1 if none do.

    Wealth increases in the successes, so this is the critical value of the test after
    so many trials.
    """
    _check_level(level)

    def enough(successes: int) -> bool:
        wealth = log_wealth(successes, trials, probability=probability)
        return bool(wealth >= -np.log(level))

    low, high = -1, trials + 1  # low is too few, high suffices or is impossible
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def fewest_bets(probability: float, level: float) -> int:
    """The fewest trials with which wealth can reach 1 / level: all of them successes.

    Without a failure wealth is (p0^-n - p0) / ((n+1) (1-p0)).
    """
    high = 1
    while fewest_successes(high, probability=probability, level=level) > high:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        short = fewest_successes(middle, probability=probability, level=level) > middle
        low, high = (middle, high) if short else (low, middle)
    return high


def bets_needed(
    truth: float, probability: float, level: float, power: float
) -> int | None:
    """Trials after which a success probability `truth` has passed with chance `power`.

    Counts only who is above the critical value at the end; those who were above it
    before come on top. None if `truth` is not larger than `probability`, or so close
    to it that a billion trials do not suffice.
    """
    if not truth > probability:
        return None

    def enough(trials: int) -> bool:
        critical = fewest_successes(trials, probability=probability, level=level)
        return bool(scipy.special.bdtrc(critical - 1, trials, truth) >= power)

    high = fewest_bets(probability, level)
    low = high - 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST_TRIALS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise InvalidParameterError(
            f"level must lie strictly between 0 and 1; got {level}."
        )
