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
"""

import numpy as np
import scipy.special
from jaxtyping import Float
from numpy.typing import ArrayLike

from icpe.core.errors import InvalidParameterError


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
