"""Which Gaussian arm is best, given a minimum gap: the exact posterior."""

import functools as ft
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Bool, Float, Num

_REACH = 6.0
"""Likelihoods are followed this many standard deviations to each side."""


@ft.partial(jax.jit, static_argnames=("min_gap", "noise", "mean_range", "num_nodes"))
def best_arm_log_posterior(
    counts: Num[Array, "arms"],
    sums: Float[Array, "arms"],
    *,
    min_gap: float,
    noise: float,
    mean_range: float,
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
        num_nodes: nodes in each panel; `nodes_needed` says how many suffice.
    """
    arms = _arms(counts, sums, noise)
    nodes, log_weights = _quadrature(arms, min_gap, mean_range, num_nodes)
    pulled = arms.pulled[:, None]
    mean, sd = arms.mean[:, None], arms.sd[:, None]
    x = nodes[None, :]
    z = (x + min_gap - mean) / sd
    log_best = jnp.where(
        pulled, -0.5 * z * z - jnp.log(sd) - 0.5 * math.log(2 * math.pi), 0.0
    )
    log_below = jnp.where(pulled, _log_normal_mass(-mean / sd, x / sd), jnp.log(x))
    log_all_below = jnp.sum(log_below, axis=0) + log_weights
    log_joint = log_best - log_below + log_all_below[None, :]
    return jax.nn.log_softmax(jax.nn.logsumexp(log_joint, axis=1))


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


class _Arms(NamedTuple):
    """The likelihood of each arm's mean: Gaussian, or flat if it was never pulled."""

    pulled: Bool[Array, "arms"]
    mean: Float[Array, "arms"]
    sd: Float[Array, "arms"]


class _Quadrature(NamedTuple):
    nodes: Float[Array, "nodes"]
    log_weights: Float[Array, "nodes"]


class _Panels(NamedTuple):
    """Two adjacent intervals: [start, edge] and [edge, end]."""

    start: Float[Array, ""]
    edge: Float[Array, ""]
    end: Float[Array, ""]


def _arms(
    counts: Num[Array, "arms"], sums: Float[Array, "arms"], noise: float
) -> _Arms:
    divisor = jnp.maximum(counts, 1).astype(sums.dtype)
    return _Arms(counts > 0, sums / divisor, noise / jnp.sqrt(divisor))


def _quadrature(
    arms: _Arms, min_gap: float, mean_range: float, num_nodes: int
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


def _panels(arms: _Arms, min_gap: float, mean_range: float) -> _Panels:
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
    high = jnp.where(arms.pulled, mean + reach, jnp.inf)
    narrowest = jnp.argmax(low)
    start = jnp.clip(low[narrowest] - min_gap, 0.0, top)
    end = jnp.minimum(jnp.max(high), top)
    return _Panels(start, jnp.minimum(high[narrowest], end), end)


def _log_normal_mass(
    start: Float[Array, "arms 1"], width: Float[Array, "arms nodes"]
) -> Float[Array, "arms nodes"]:
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
