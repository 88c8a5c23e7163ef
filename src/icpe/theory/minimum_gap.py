"""Bounds for Gaussian best-arm identification when a minimum gap is known.

The class is the bandits whose best arm leads every other by at least `min_gap`. For
methods that err with probability at most delta on every bandit of the class, the
optimal expected number of queries lies between `lower` and `upper` (the paper,
appendix "Sample complexity bounds for MAB problems with fixed minimum gap"; the upper
side bounds the characteristic time, so it is attained as delta tends to 0):

    1 / max(D0^2, 1 / sum_{a != *} 1/D_a^2)
        <=  E[queries] / (2 s^2 kl(1-delta, delta))  <=  2 sum_a 1 / (D_a + D0)^2

with gaps D_a, D_* = 0, minimum gap D0 and noise s.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Scalar
from icpe.theory.characteristic_time import Means
from icpe.theory.divergences import kl_error_prob


class MinimumGapBounds(eqx.Module):
    """Expected queries of methods that are correct on every bandit of the class."""

    lower: Scalar
    upper: Scalar


def minimum_gap_bounds(
    means: Means,
    min_gap: Scalar | float,
    noise: Scalar | float,
    error_prob: Scalar | float,
) -> MinimumGapBounds:
    """Both sides of the theorem, for means whose gaps are at least `min_gap`."""
    gaps = jnp.max(means) - means
    is_best = jnp.arange(means.shape[0]) == jnp.argmax(means)
    inverse = jnp.where(is_best, 0.0, 1.0 / jnp.where(is_best, 1.0, gaps) ** 2)
    rate = jnp.maximum(jnp.asarray(min_gap) ** 2, 1.0 / jnp.sum(inverse))
    unit = 2.0 * jnp.asarray(noise) ** 2 * kl_error_prob(error_prob)
    return MinimumGapBounds(
        lower=unit / rate, upper=2.0 * unit * jnp.sum((gaps + min_gap) ** -2)
    )


def minimum_gap_proportions(
    means: Means, min_gap: Scalar | float
) -> Float[Array, "arms"]:
    """The allocation w_a proportional to 1 / (D_a + D0)^2.

    It attains the upper bound of the theorem; it needs no optimization.
    """
    weights = (jnp.max(means) - means + min_gap) ** -2
    return weights / jnp.sum(weights)
