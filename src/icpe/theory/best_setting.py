"""Which of several settings is best, whatever their common level: the exact posterior.

Everything is measured in units of the smallest difference that matters. Of the mean m
of the best setting nothing is known: its prior is flat on the line, so that an offset
common to all outcomes changes nothing. Each other setting falls behind it by 1 and an
excess D_j more. The excesses are independent, and their density is a mixture of
exponentials: some settings come close to the best, others are far behind.

Write L_j(x) for the likelihood of setting j's outcomes at mean x. Then

    P(best = k | data)  ∝  ∫ L_k(m) prod_{j≠k} G_j(m) dm,   G_j(m) = E L_j(m - 1 - D_j),

G_j is the density of a normal plus an exponential variable, which is known in closed
form, and the one integral that remains is done by Gauss-Legendre quadrature. Where the
noise is not known either, another quadrature runs over it.
"""

import functools as ft
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from icpe.core.arrays import Scalar

_REACH = 4.5
"""Likelihoods are followed this many standard deviations to each side."""
_TAIL = 16.0
"""And exponential tails as many times their scale."""
_NUM_NODES = 16
_NUM_NOISES = 5
_FINE_NOISES = 65
_ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)
"""Coefficients of P in `_tail_and_exponent`, highest power first."""


class Outcomes(NamedTuple):
    """What is known of each setting: how often it was tried, mean and scatter.

    `squares` is the sum of squared deviations of its outcomes from their mean.
    """

    counts: Num[Array, "settings"]
    means: Float[Array, "settings"]
    squares: Float[Array, "settings"]


class Noises(NamedTuple):
    """Nodes of a quadrature over the noise, and logarithms of their weights."""

    values: Float[Array, "noises"]
    log_weights: Float[Array, "noises"]


@ft.partial(jax.jit, static_argnames=("scales",))
def best_setting_log_posterior(
    seen: Outcomes,
    exists: Bool[Array, "settings"],
    noises: Noises,
    *,
    scales: tuple[float, ...],
) -> Float[Array, "settings"]:
    """Log-probability that each setting is best; -inf for those that do not exist.

    Args:
        seen: the outcomes; a setting that was never tried has count 0.
        exists: the settings that there are.
        noises: standard deviation of an outcome, one or several (`possible_noises`).
        scales: of the exponentials that make up the excess, equally probable.
    """

    def given(noise: Scalar) -> Float[Array, "settings"]:
        return best_setting_log_evidence(seen, exists, noise, scales)

    each = jax.vmap(given)(noises.values) + noises.log_weights[:, None]
    found = jax.nn.log_softmax(jax.nn.logsumexp(each, axis=0))
    nothing = jnp.where(exists, -jnp.log(jnp.sum(exists)), -jnp.inf)
    return jnp.where(jnp.any(seen.counts > 0), found, nothing)


def one_noise(noise: Scalar) -> Noises:
    """A noise that is known."""
    return Noises(
        jnp.broadcast_to(noise, (_NUM_NOISES,)),
        jnp.full(_NUM_NOISES, -math.log(_NUM_NOISES)),
    )


def possible_noises(seen: Outcomes, least: float, most: float) -> Noises:
    """A noise that is not known: log-uniform from `least` to `most` before the data.

    The scatter of repeated outcomes around the mean of their setting tells about it;
    the nodes are Gauss-Legendre nodes in the probabilities that this scatter leaves,
    so that they lie where the noise can be. What the means tell beyond that enters by
    the posterior itself, which takes them in for each node.
    """
    log_noise = jnp.linspace(math.log(least), math.log(most), _FINE_NOISES)
    repeats = jnp.sum(jnp.maximum(seen.counts - 1, 0)).astype(log_noise.dtype)
    squares = jnp.sum(seen.squares)
    log_density = -repeats * log_noise - 0.5 * squares * jnp.exp(-2.0 * log_noise)
    density = jnp.exp(log_density - jnp.max(log_density))
    areas = 0.5 * (density[1:] + density[:-1])
    below = jnp.concatenate([jnp.zeros(1), jnp.cumsum(areas)])
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_NOISES)
    shares = jnp.asarray((nodes + 1) / 2, below.dtype)
    values = jnp.exp(jnp.interp(shares * below[-1], below, log_noise))
    return Noises(values, jnp.asarray(np.log(weights / 2), values.dtype))


def best_setting_log_evidence(
    seen: Outcomes,
    exists: Bool[Array, "settings"],
    noise: Scalar,
    scales: tuple[float, ...],
) -> Float[Array, "settings"]:
    """Log-density of the means of the outcomes if each setting is the best.

    Up to their common level, of which nothing is known: of their differences.
    """
    tried = exists & (seen.counts > 0)
    sd = noise / jnp.sqrt(jnp.maximum(seen.counts, 1).astype(seen.means.dtype))
    nodes, log_weights = _nodes(seen.means, sd, tried, exists, scales)
    x, mean, sd = nodes[None], seen.means[:, None], sd[:, None]
    tried, exists = tried[:, None], exists[:, None]
    z = (x - mean) / sd
    log_best = -0.5 * z * z - jnp.log(sd) - 0.5 * math.log(2 * math.pi)
    log_best = jnp.where(exists, jnp.where(tried, log_best, 0.0), -jnp.inf)
    log_other = jnp.where(tried, _log_behind(x - 1.0 - mean, sd, scales), 0.0)
    log_all = jnp.sum(log_other, axis=0) + log_weights
    return jax.nn.logsumexp(log_best - log_other + log_all[None], axis=1)


def _log_behind(
    lag: Float[Array, "settings nodes"],
    sd: Float[Array, "settings 1"],
    scales: Sequence[float],
) -> Float[Array, "settings nodes"]:
    """Log-density of a lag that is an excess plus normal noise.

    For an exponential excess of scale s, with z = lag / sd and u = sd / s - z, it is

        log Phi(-u) + u^2 / 2 - z^2 / 2 - log s.

    Each is written as a factor between 0 and 1 and an exponent, so that the mixture
    takes one logarithm, and neither under- nor overflows.
    """
    z = lag / sd
    each = [_tail_and_exponent(sd / scale, z) for scale in scales]
    exponents = [
        exponent - math.log(scale * len(scales))
        for (_, exponent), scale in zip(each, scales, strict=True)
    ]
    largest = ft.reduce(jnp.maximum, exponents)
    total = sum(
        tail * jnp.exp(exponent - largest)
        for (tail, _), exponent in zip(each, exponents, strict=True)
    )
    return largest + jnp.log(total)


def _tail_and_exponent(ratio, z):
    """Phi(-u) exp(u^2 / 2 - z^2 / 2) for u = ratio - z, as a factor and an exponent.

    erfc(x) = t exp(-x^2 + P(t)) with t = 2 / (2 + x), to a relative 1.2e-7 (Press et
    al., Numerical Recipes, 6.2): additions and one exponential.
    """
    u = ratio - z
    x = jnp.abs(u) * math.sqrt(0.5)
    t = 1.0 / (1.0 + 0.5 * x)
    power = ft.reduce(lambda total, each: total * t + each, _ERFC[1:], _ERFC[0] + 0 * t)
    far = 0.5 * t * jnp.exp(power)
    near = 1.0 - far * jnp.exp(-x * x)
    return (
        jnp.where(u > 0, far, near),
        jnp.where(u > 0, -0.5 * z * z, ratio * (0.5 * ratio - z)),
    )


def _nodes(
    mean: Float[Array, "settings"],
    sd: Float[Array, "settings"],
    tried: Bool[Array, "settings"],
    exists: Bool[Array, "settings"],
    scales: Sequence[float],
) -> tuple[Float[Array, "nodes"], Float[Array, "nodes"]]:
    """Gauss-Legendre nodes and log-weights on two panels that hold the best mean.

    Whoever is best, no setting's mean lies above m, which gives the lower end; the
    setting that sets it fills the first panel with its likelihood and, 1 further up,
    the step of G. The second panel reaches as far as any other setting may be, or as
    far as the tails where one was never tried.
    """
    reach = _REACH * sd
    low = jnp.where(tried, mean - reach, -jnp.inf)
    first = jnp.argmax(low)
    start = low[first]
    edge = mean[first] + 1.0 + reach[first]
    highest = jnp.max(jnp.where(tried, mean + reach, -jnp.inf))
    tail = mean[first] + 1.0 + reach[first] + _TAIL * max(scales)
    end = jnp.where(jnp.any(exists & ~tried), jnp.maximum(highest, tail), highest)
    end = jnp.maximum(end, edge + 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_NODES)
    points = jnp.asarray((nodes + 1) / 2, mean.dtype)
    shares = jnp.asarray(np.log(weights / 2), mean.dtype)
    return (
        jnp.concatenate(
            [start + (edge - start) * points, edge + (end - edge) * points]
        ),
        jnp.concatenate([jnp.log(edge - start) + shares, jnp.log(end - edge) + shares]),
    )
