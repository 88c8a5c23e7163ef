"""Kullback-Leibler divergences and entropies, accurate at the edges, in nats."""

import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Float

Numbers = Float[Array, "*#shape"]

_SERIES_TERMS = 10
_SERIES_RADIUS = 0.03


def kl_bernoulli(p: Numbers, q: Numbers) -> Float[Array, "*shape"]:
    """KL(Bernoulli(p), Bernoulli(q)) = p log(p/q) + (1-p) log((1-p)/(1-q)).

    Exact at the edges (0 log 0 = 0; infinite where q excludes what p allows) and
    relatively accurate where p and q nearly agree, where the plain formula cancels.
    """
    p, q = jnp.asarray(p), jnp.asarray(q)
    return kl_binary(p, 1.0 - p, q, 1.0 - q, p - q)


def kl_binary(
    p: Numbers, not_p: Numbers, q: Numbers, not_q: Numbers, difference: Numbers
) -> Float[Array, "*shape"]:
    """`kl_bernoulli` for callers who know 1-p, 1-q and p-q without rounding error."""
    return _divergence(p, q, difference) + _divergence(not_p, not_q, -difference)


def kl_gaussian(mean_p: Numbers, mean_q: Numbers, noise: Numbers | float) -> Numbers:
    """KL of two Gaussians with the same known standard deviation `noise`."""
    return 0.5 * ((mean_p - mean_q) / noise) ** 2


def kl_error_prob(error_prob: Numbers | float) -> Float[Array, "*shape"]:
    """kl(1 - delta, delta) = (1 - 2 delta) log((1 - delta) / delta).

    The factor between a characteristic time and the expected number of queries of a
    method that errs with probability at most delta on every task (Garivier and
    Kaufmann 2016, Theorem 1).
    """
    delta = jnp.asarray(error_prob)
    return (1.0 - 2.0 * delta) * (jnp.log1p(-delta) - jnp.log(delta))


def entropy(probs: Float[Array, "*shape outcomes"]) -> Float[Array, "*shape"]:
    """Entropy of each distribution along the last axis; impossible outcomes add 0."""
    return jnp.sum(entr(probs), axis=-1)


def _divergence(x: Array, y: Array, difference: Array) -> Array:
    """x log(x/y) - x + y, a nonnegative term whose linear parts cancel in a KL.

    `difference` is x - y, known better than the subtraction would give. Near x = y
    the sum over k >= 2 of (-r)^k y / (k (k-1)), with r = (x-y)/y, replaces it.
    """
    safe_y = jnp.where(y > 0, y, 1.0)
    ratio = difference / safe_y
    near = (jnp.abs(ratio) < _SERIES_RADIUS) & (y > 0)
    small = jnp.where(near, ratio, 0.0)
    series = jnp.zeros_like(small)
    for k in range(_SERIES_TERMS, 1, -1):
        series = (-1.0) ** k / (k * (k - 1)) + small * series
    safe_x = jnp.where(x > 0, x, 1.0)
    plain = jnp.where(x > 0, x * (jnp.log(safe_x) - jnp.log(safe_y)), 0.0)
    plain = jnp.where((y > 0) | (x <= 0), plain - difference, jnp.inf)
    return jnp.where(near, safe_y * small**2 * series, plain)
