"""Which Gaussian arm is best, given a minimum gap: the exact posterior."""

import functools as ft
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Bool, Float, Num

from icpe.core.arrays import Scalar

_REACH = 6.0
"""Likelihoods are followed this many standard deviations to each side."""


@ft.partial(jax.jit, static_argnames=("num_nodes",))
def best_arm_log_posterior(
    counts: Num[Array, "arms"],
    sums: Float[Array, "arms"],
    *,
    min_gap: Scalar | float,
    noise: Scalar | float,
    mean_range: Scalar | float,
    exists: Bool[Array, "arms"] | None = None,
    num_nodes: int = 32,
) -> Float[Array, "arms"]:
    """Log-probability that each arm is best, given counts and sums of its rewards.

    The prior: K uniforms on [0, R - gap], the gap added to the largest; rewards are
    Gaussian with known noise. Write x for the largest uniform, L_j(m) for the
    likelihood of arm j's rewards at mean m and F_j(x) for its integral over [0, x].
    Then

        P(best = k | data)  ∝  ∫_0^{R - gap} L_k(x + gap) prod_{j≠k} F_j(x) dx,

    since arm k has mean x + gap and the others are uniform below x. F_j is a
    difference of normal distribution functions, and the one integral that remains
    is done by Gauss-Legendre quadrature in log space on two panels around the place
    where the data put x (see `_panels`).

    Args:
        counts: pulls of each arm; 0 is allowed.
        sums: sum of the rewards of each arm.
        min_gap: the gap.
        noise: standard deviation of a reward.
        mean_range: R, the largest possible mean.
        exists: the arms that there are, the first one among them; all if None. The
            others are never best.
        num_nodes: nodes in each panel; `nodes_needed` says how many suffice.
    """
    arms = arm_likelihoods(counts, sums, noise, exists)
    joint = best_arm_joint(arms, min_gap, mean_range, num_nodes)
    return jax.nn.log_softmax(jax.nn.logsumexp(joint.log_joint, axis=1))


def nodes_needed(min_gap: float, noise: float, max_pulls: int) -> int:
    """Nodes per panel that keep the quadrature's error below 1e-6.

    The first panel spans the gap and twice the reach of the narrowest likelihood,
    whose standard deviation is noise / sqrt(max_pulls), and Gauss-Legendre nodes
    converge once they are about one such standard deviation apart. Where the gap is
    so many standard deviations that 128 nodes do not suffice, a few pulls settle the
    question, and more nodes would be wasted.
    """
    widths = 2 * _REACH + min_gap * math.sqrt(max_pulls) / noise
    return min(max(24, math.ceil(math.pi / 2 * widths)), 128)


class ArmLikelihoods(NamedTuple):
    """The likelihood of each arm's mean: Gaussian, or flat if it was never pulled.

    `sd` is that of the sample mean, or of one reward where there is none.
    """

    exists: Bool[Array, "arms"]
    pulled: Bool[Array, "arms"]
    mean: Float[Array, "arms"]
    sd: Float[Array, "arms"]


class BestArmJoint(NamedTuple):
    """What the quadrature over x, the largest uniform, has at its nodes.

    `log_below` is log F_j(x), and `log_joint` the log of the integrand for each best
    arm, weights of the quadrature included.
    """

    nodes: Float[Array, "nodes"]
    log_below: Float[Array, "arms nodes"]
    log_joint: Float[Array, "arms nodes"]


def arm_likelihoods(
    counts: Num[Array, "arms"],
    sums: Float[Array, "arms"],
    noise: Scalar | float,
    exists: Bool[Array, "arms"] | None = None,
) -> ArmLikelihoods:
    """What the rewards say about each arm's mean."""
    divisor = jnp.maximum(counts, 1).astype(sums.dtype)
    if exists is None:
        exists = jnp.ones(counts.shape, bool)
    pulled = exists & (counts > 0)
    return ArmLikelihoods(exists, pulled, sums / divisor, noise / jnp.sqrt(divisor))


def best_arm_joint(
    arms: ArmLikelihoods,
    min_gap: Scalar | float,
    mean_range: Scalar | float,
    num_nodes: int,
) -> BestArmJoint:
    """The integrand of `best_arm_log_posterior` at the nodes of its quadrature."""
    nodes, log_weights = _quadrature(arms, min_gap, mean_range, num_nodes)
    exists, pulled = arms.exists[:, None], arms.pulled[:, None]
    mean, sd = arms.mean[:, None], arms.sd[:, None]
    x = nodes[None, :]
    z = (x + min_gap - mean) / sd
    log_best = jnp.where(
        pulled, -0.5 * z * z - jnp.log(sd) - 0.5 * math.log(2 * math.pi), 0.0
    )
    log_best = jnp.where(exists, log_best, -jnp.inf)
    log_below = jnp.where(pulled, log_normal_mass(-mean / sd, x / sd), jnp.log(x))
    log_below = jnp.where(exists, log_below, 0.0)
    log_all_below = jnp.sum(log_below, axis=0) + log_weights
    return BestArmJoint(nodes, log_below, log_best - log_below + log_all_below[None])


class _Quadrature(NamedTuple):
    nodes: Float[Array, "nodes"]
    log_weights: Float[Array, "nodes"]


class _Panels(NamedTuple):
    """Two adjacent intervals: [start, edge] and [edge, end]."""

    start: Float[Array, ""]
    edge: Float[Array, ""]
    end: Float[Array, ""]


def _quadrature(
    arms: ArmLikelihoods,
    min_gap: Scalar | float,
    mean_range: Scalar | float,
    num_nodes: int,
) -> _Quadrature:
    """Gauss-Legendre nodes and weights on both panels."""
    dtype = arms.mean.dtype
    start, edge, end = _panels(arms, min_gap, mean_range)
    unit_nodes, unit_weights = np.polynomial.legendre.leggauss(num_nodes)
    points = jnp.asarray((unit_nodes + 1) / 2, dtype)
    log_weights = jnp.asarray(np.log(unit_weights / 2), dtype)
    first, second = edge - start, end - edge
    return _Quadrature(
        jnp.concatenate([start + first * points, edge + second * points]),
        jnp.concatenate([jnp.log(first) + log_weights, jnp.log(second) + log_weights]),
    )


def _panels(
    arms: ArmLikelihoods, min_gap: Scalar | float, mean_range: Scalar | float
) -> _Panels:
    """Where x can be.

    Whoever is best, its mean is no less than any other, so x + gap lies above every
    arm's mean less `_REACH` standard deviations; and if every arm was pulled, x does
    not exceed all of them by as much. The arm that sets the lower end is the
    narrowest that matters: its likelihood and its step fill the first panel. A
    likelihood that matters further right, at a distance d, has a standard deviation
    of at least d / `_REACH`, so that the wide second panel needs no more nodes.
    """
    top = mean_range - min_gap
    mean = jnp.clip(arms.mean, 0.0, mean_range)
    reach = _REACH * arms.sd
    low = jnp.where(arms.pulled, mean - reach, -jnp.inf)
    unknown = jnp.where(arms.exists, jnp.inf, -jnp.inf).astype(mean.dtype)
    high = jnp.where(arms.pulled, mean + reach, unknown)
    narrowest = jnp.argmax(low)
    start = jnp.clip(low[narrowest] - min_gap, 0.0, top)
    end = jnp.minimum(jnp.max(high), top)
    return _Panels(start, jnp.minimum(high[narrowest], end), end)


def log_normal_mass(
    start: Float[Array, "*#shape"], width: Float[Array, "*#shape"]
) -> Float[Array, "*shape"]:
    """log(Phi(start + width) - Phi(start)) for width > 0, stable in both tails.

    An interval to the right of 0 is mirrored, so that the two probabilities are never
    both close to 1.
    """
    mirrored = start > 0
    end = jnp.where(mirrored, -start - width, start + width)
    log_start, log_end = log_ndtr(-jnp.abs(start)), log_ndtr(end)
    log_high = jnp.where(mirrored, log_start, log_end)
    log_low = jnp.where(mirrored, log_end, log_start)
    drop = jnp.minimum(log_low - log_high, -jnp.finfo(width.dtype).eps)
    return log_high + jnp.log(-jnp.expm1(drop))
