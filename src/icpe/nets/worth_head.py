"""How much of the error asking on will remove, read off what is known.

Whether another query pays hangs on the belief, on what the best query tells and on what
queries cost: a few numbers, in which it is easy to see when to stop. Networks that look
at the history alone have to find them in it again.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax.scipy.special import entr
from jaxtyping import Array, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.nets.evidence import ERROR_REMOVED, RATIO, Told
from icpe.nets.linear import Linear

MOST_NAMED = 16
"""Hypotheses up to which the belief in each is told; some are easily confused."""
_NUM_KNOWN, _NUM_ASKED = 7, 5
_SIZE = 32
_LEAST = 1e-6
"""Smaller errors, prices and rates of information look alike."""


class WorthHead(eqx.Module):
    """A logit from what is known and what is asked for. It starts as zero."""

    embed: Linear
    hidden: Linear
    out: Linear

    def __init__(self, num_hypotheses: int, *, key: PRNGKey):
        first, second, last = jr.split(key, 3)
        named = num_hypotheses if num_hypotheses <= MOST_NAMED else 0
        self.embed = Linear(_NUM_KNOWN + named + _NUM_ASKED, _SIZE, key=first)
        self.hidden = Linear(_SIZE, _SIZE, key=second)
        self.out = Linear(_SIZE, 1, gain=0.0, key=last)

    def __call__(
        self, known: Float[Array, "*tokens known"], asked: Float[Array, "*tokens asked"]
    ) -> Float[Array, "*tokens"]:
        """The logit at each position."""
        x = jnp.concatenate([known, asked], axis=-1)
        x = jax.nn.gelu(_apply(self.embed, x))
        x = x + jax.nn.gelu(_apply(self.hidden, x))
        return _apply(self.out, x)[..., 0]


def what_is_known(told: Told, mean_cost: float) -> Float[Array, "*tokens known"]:
    """Of the belief and the best query, each number about as large as one."""
    belief = jnp.exp(told.log_posterior)
    best = jnp.max(belief, axis=-1)
    others = jnp.where(belief >= best[..., None], 0.0, belief)
    information = mean_cost * told.view.best_rate
    features = told.view.features
    removed = jnp.where(features[..., RATIO] > 0, features[..., ERROR_REMOVED], 0.0)
    rows = [
        best,
        jnp.max(others, axis=-1),
        jnp.sum(entr(belief), axis=-1),
        jnp.log(jnp.maximum(1.0 - best, _LEAST)) / 4.0,
        information,
        jnp.log(information + _LEAST) / 4.0,
        jnp.max(removed, axis=-1),
    ]
    known = jnp.stack(rows, axis=-1)
    if belief.shape[-1] > MOST_NAMED:
        return known
    return jnp.concatenate([known, belief], axis=-1)


def what_is_asked(
    error: Float[Array, "*tokens"],
    unit: Float[Array, "*tokens"],
    has_price: Float[Array, "*#tokens"],
    remaining: Int[Array, "*tokens"],
    horizon: int,
) -> Float[Array, "*tokens asked"]:
    """Of the request.

    Args:
        error: the present probability of a wrong answer.
        unit: what a query of mean cost is worth.
        has_price: 1 for a price, -1 for a budget.
        remaining: queries that may still be made.
        horizon: of the family.
    """
    left = jnp.maximum(remaining, 0).astype(error.dtype)
    unit = jnp.maximum(unit, _LEAST)
    rows = [
        jnp.log(jnp.maximum(error, _LEAST) / unit) / 4.0,
        jnp.log(unit) / 4.0,
        jnp.broadcast_to(has_price, error.shape),
        left / horizon,
        jnp.log1p(left) / math.log1p(horizon),
    ]
    return jnp.stack(rows, axis=-1)


def _apply(layer: Linear, x: Float[Array, "*tokens in"]) -> Float[Array, "*tokens out"]:
    return jnp.vectorize(layer, signature="(i)->(o)")(x)
