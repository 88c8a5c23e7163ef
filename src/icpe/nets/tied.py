"""One small network for every query alike, on what is known of that query.

In many families queries are things of one kind: arms, items, tests. What makes one of
them worth asking is then the same for all, its count, its mean outcome, the belief
about it, seen against those of the others. A head of its own for each query has to
learn that as often as there are queries.

Where a query tells about others than itself, what it is worth hangs on what is known of
those. Which they are is learned, one matrix for all histories.
"""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.nets.linear import Linear, precision_of

_NUM_ROUNDS = 2
_NUM_VIEWS = 4

Hidden = Float[Array, "queries size"]


class TiedHead(eqx.Module):
    """A number for each query, from its own features and how they compare.

    Queries with equal features get equal numbers, and renaming queries renames the
    numbers (Zaheer et al., "Deep Sets", 2017), unless the head has a `reach`.
    """

    embed: Linear
    reach: "Reach | None"
    rounds: tuple["Comparison", ...]
    hidden: Linear | None
    out: Linear

    def __init__(
        self,
        num_features: int,
        size: int,
        *,
        reach_over: int = 0,
        compares: bool = True,
        gain: float = 0.1,
        key: PRNGKey,
    ):
        """A head with a reach, if any, over this number of queries.

        Without comparisons every query is judged by itself. A head without `gain`
        starts as zero.
        """
        embed_key, out_key, *round_keys = jr.split(key, 2 + _NUM_ROUNDS)
        self.embed = Linear(num_features, size, key=embed_key)
        reach_key = jr.fold_in(embed_key, 1)
        self.reach = Reach(reach_over, size, key=reach_key) if reach_over else None
        self.rounds, self.hidden = (), None
        if compares:
            self.rounds = tuple(Comparison(size, key=key) for key in round_keys)
        else:
            self.hidden = Linear(size, size, key=round_keys[0])
        self.out = Linear(size, 1, gain=gain, key=out_key)

    def __call__(
        self,
        context: Float[Array, "size"],
        features: Float[Array, "queries features"],
        *,
        dtype=jnp.float32,
    ) -> Float[Array, "queries"]:
        """The context, which comes from the history as a whole, is told to all.

        What is inside is computed in `dtype`, but for what the features become: there
        close ones must stay apart.
        """
        x = jax.nn.gelu(jax.vmap(self.embed)(features) + context[None]).astype(dtype)
        context = context.astype(dtype)
        if self.reach is not None:
            x = self.reach(x, context)
        for comparison in self.rounds:
            x = comparison(x)
        if self.hidden is not None:
            x = x + jax.nn.gelu(_each(self.hidden, x, dtype))
        # One number each: a sum, which is fused with what comes before it.
        weight, bias = self.out.weight, self.out.bias
        assert bias is not None
        return jnp.sum(x.astype(weight.dtype) * weight, axis=-1) + bias


class Reach(eqx.Module):
    """Each query learns what is known of those that it tells about."""

    weights: Float[Array, "queries queries"]
    mix: Linear

    def __init__(self, num_queries: int, size: int, *, key: PRNGKey):
        """Starts at zero, so that all queries look alike."""
        self.weights = jnp.zeros((num_queries, num_queries))
        self.mix = Linear(size, size, use_bias=False, key=key)

    def __call__(self, x: Hidden, context: Float[Array, "size"]) -> Hidden:
        """One residual step; what is known there may count for more or less by then."""
        reached = jnp.matmul(
            self.weights.astype(x.dtype), x, precision=precision_of(x.dtype)
        )
        return x + jax.nn.gelu(_each(self.mix, reached, x.dtype) + context[None])


class Comparison(eqx.Module):
    """Each query learns what a few weighted means over all queries look like.

    Such a mean may be of the one that looks best, or of those that compete with it
    (attention with learned seeds; Lee et al., "Set Transformer", 2019).
    """

    attention: Linear
    views: Linear
    mix: Linear

    def __init__(self, size: int, *, key: PRNGKey):
        attention_key, views_key, mix_key = jr.split(key, 3)
        self.attention = Linear(size, _NUM_VIEWS, key=attention_key)
        self.views = Linear(_NUM_VIEWS * size, size, key=views_key)
        self.mix = Linear(size, size, key=mix_key)

    def __call__(self, x: Hidden) -> Hidden:
        weights = jax.nn.softmax(_each(self.attention, x, x.dtype), axis=0)
        # As products of matrices as small as these, it takes a GPU ten times as long.
        views = jnp.sum(weights[:, :, None] * x[:, None, :], axis=0)
        views = self.views.rounded(views.reshape(-1), x.dtype, x.dtype)
        return x + jax.nn.gelu(_each(self.mix, x, x.dtype) + views[None])


def _each(
    layer: Linear, x: Float[Array, "queries in"], dtype
) -> Float[Array, "queries out"]:
    """A layer of every query."""
    return jax.vmap(ft.partial(layer.rounded, dtype=dtype, out_dtype=dtype))(x)
