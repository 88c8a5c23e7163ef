"""The mixture-martingale boundary for accuracies watched while they change.

At epochs t = 1, 2, ... a batch of B trials is made, independent given the past, each
a success with probability p_t; X_t is the fraction of successes. If p_t <= p0 at every
epoch, then

    P(there is a t with X_1 + .. + X_t >= t p0 + boundary(t)) <= level,
    boundary(t) = sqrt(2 (1 + v_t) log(sqrt(1 + v_t) / level)),  v_t = p0 t / B

(Russo, Welch and Pacchiano 2026, "In-Context Learning for Pure Exploration",
proposition on the stopping rule of training). The proof mixes the martingales
exp(lambda S_t - B sum_s log E exp(lambda (Z_s - p_s) / B)) over a half-normal lambda
and applies Ville's inequality; it needs log E exp(x (Z - p)) <= p0 x^2 / 2 for every
Bernoulli Z, which holds for p0 >= 1/4 by Hoeffding's lemma.

Crossing refutes only "p_t <= p0 at every epoch so far". It says nothing about the last
epoch by itself, unless p_t never falls.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError
from icpe.theory.intervals import check_confidence


def mixture_boundary(
    epochs: ArrayLike, *, probability: float, batch_size: int, level: float
) -> Float[np.ndarray, "..."]:
    """The mean of X_1 .. X_t from which on "p_s <= probability at all s" is rejected.

    Args:
        epochs: the number t of epochs so far.
        probability: p0, at least 1/4.
        batch_size: trials B of an epoch.
        level: probability of ever rejecting although p_t <= p0 throughout.

    Returns:
        p0 + boundary(t) / t. Values above 1 cannot be reached yet.
    """
    check_confidence(1.0 - level)
    check_at_least("batch_size", batch_size, 1)
    if not 0.25 <= probability < 1.0:
        raise InvalidParameterError(
            f"probability must be at least 0.25 and less than 1; got {probability}."
        )
    t = np.asarray(epochs, float)
    if np.any(t < 1):
        raise InvalidParameterError(f"epochs must be at least 1; got {epochs}.")
    spread = 1.0 + probability * t / batch_size
    boundary = np.sqrt(2.0 * spread * (0.5 * np.log(spread) - np.log(level)))
    return np.asarray(probability + boundary / t)
