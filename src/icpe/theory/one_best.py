"""One arm stands out: the belief, and what revealed rewards are expected to tell.

One arm, each with the same prior probability, has mean `high`, all others `low`, and
rewards are Gaussian with known noise. With d = (high - low) / noise, a reward of arm k
has the log-likelihood ratio l_k of "k is the one" against "k is not", which is normal
with variance d^2 and mean d^2/2 if k is the one and -d^2/2 if not.

A query reveals a reward of each arm v with probability G[v], independently. Given the
belief p the outcome's likelihood ratio is Z = sum_k p_k e^{l_k} (l_k = 0 where k is not
revealed), and if h is the one, the gain is l_h - log Z. Given h the terms of Z are
independent, so its logarithm has an exact expectation in two one-dimensional integrals:

    E[log Z] = ∫_0^∞ (e^{-t} - E[e^{-tZ}]) dt / t,
    E[e^{-tZ}] = prod_k E[exp(-t p_k e^{l_k})].
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

_TAIL = 6.0
"""Log-likelihood ratios are followed this many standard deviations to each side."""

_LARGEST_CONTRAST = 8.0
"""From here on a reward tells all but for one time in ten thousand."""


def one_best_log_posterior(
    counts: Num[Array, "arms"],
    sums: Float[Array, "arms"],
    *,
    high: float,
    low: float,
    noise: float,
) -> Float[Array, "arms"]:
    """Log-probability that each arm is the one, given counts and sums of rewards."""
    middle = 0.5 * (high + low)
    evidence = (high - low) / noise**2 * (sums - middle * counts.astype(sums.dtype))
    return jax.nn.log_softmax(evidence)


def one_best_information_gains(
    log_posterior: Float[Array, "arms"],
    graph: Float[Array, "queries arms"],
    contrast: float,
) -> Float[Array, "queries"]:
    """Mutual information, in nats, of the one arm and what each query reveals.

    Exact up to quadrature, with an error of about 1e-6 in single precision.

    Args:
        log_posterior: the belief.
        graph: the probability that a query reveals each arm.
        contrast: d, the distance of the two means in standard deviations; more than 8
            counts as 8.
    """
    contrast = min(contrast, _LARGEST_CONTRAST)
    probs = jnp.exp(log_posterior)
    log_t, step = _grid(contrast, probs.dtype)
    scale = log_t[:, None] + log_posterior[None, :]
    alone = jnp.exp(-jnp.exp(scale))
    seen_other, seen_best = _transforms(scale, contrast)
    # Axes: queries, t, arms.
    reveal = graph[:, None, :]
    other = alone[None] + reveal * (seen_other - alone)[None]
    best = alone[None] + reveal * (seen_best - alone)[None]
    without_each = _product_without_each(other)
    weighted = jnp.sum(probs[None, None, :] * without_each * best, axis=2)
    integrand = jnp.exp(-jnp.exp(log_t))[None, :] - weighted
    log_ratio = step * jnp.sum(integrand, axis=1)
    gains = 0.5 * contrast**2 * (graph @ probs) - log_ratio
    return jnp.clip(gains, 0.0, jnp.log(float(probs.shape[0])))


def _grid(contrast: float, dtype) -> tuple[Float[Array, "t"], float]:
    """Nodes of log t for the trapezoidal rule, which converges geometrically here.

    They reach to both sides as far as |log Z| does; beyond, the integrand falls like t
    below and like e^{-t} above.
    """
    step = 0.6
    reach = 0.5 * contrast**2 + _TAIL * contrast
    low, high = np.ceil((reach + 12.0) / step), np.ceil((reach + 4.0) / step)
    return jnp.asarray(step * np.arange(-low, high + 1), dtype), step


def _transforms(
    scale: Float[Array, "t arms"], contrast: float
) -> tuple[Float[Array, "t arms"], Float[Array, "t arms"]]:
    """E[exp(-s e^l)] for s = exp(scale), if the arm is not, and if it is, the one."""
    step = min(0.5, 0.6 / contrast)
    size = int(np.ceil(_TAIL / step))
    z = step * np.arange(-size, size + 1)
    weights = np.exp(-0.5 * z * z)
    weights = jnp.asarray(weights / weights.sum(), scale.dtype)

    def transform(mean: float) -> Float[Array, "t arms"]:
        ratios = jnp.asarray(mean + contrast * z, scale.dtype)
        exponent = jnp.exp(scale[:, :, None] + ratios[None, None, :])
        return jnp.exp(-exponent) @ weights

    return transform(-0.5 * contrast**2), transform(0.5 * contrast**2)


def _product_without_each(
    factors: Float[Array, "queries t arms"],
) -> Float[Array, "queries t arms"]:
    """The product over all other arms, without a division by what may be 0."""
    ones = jnp.ones_like(factors[..., :1])
    before = jnp.cumprod(jnp.concatenate([ones, factors[..., :-1]], -1), axis=-1)
    after = jnp.cumprod(jnp.concatenate([ones, factors[..., :0:-1]], -1), axis=-1)[
        ..., ::-1
    ]
    return before * after
