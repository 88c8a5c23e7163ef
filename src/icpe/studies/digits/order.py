"""The best fixed order of tiles, found greedily on the pictures of a family."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.families.patches.law import Patches


def best_fixed_order(
    believer: AbstractExplorer,
    family: Patches,
    length: int,
    *,
    pictures: int = 2048,
    key: PRNGKey,
) -> Int[Array, "queries"]:
    """The order in which each tile adds most to the mean probability of the truth.

    Greedy forward selection: given the tiles before it, each tile is the best on
    average over pictures. The rest of the tiles follows in their own order.

    Args:
        believer: who answers; its probabilities count.
        family: where the pictures come from.
        length: how many tiles to order.
        pictures: over how many pictures to average.
        key: draws them.
    """
    spec = family.spec
    tasks = jax.vmap(lambda key: family.sample_task(key=key))(jr.split(key, pictures))
    tiles = jax.vmap(family.cut)(tasks.image)
    point = OperatingPoint.at(spec.horizon, budget=length)
    first = jnp.zeros((pictures, spec.outcome_size))
    state = jax.vmap(lambda first: believer.init(spec, point, first))(first)

    def mean_confidence(believer, state, query) -> Float[Array, ""]:
        told = jax.vmap(believer.tell, in_axes=(0, None, 0))(
            state, query, tiles[:, query]
        )
        log_posterior = jax.vmap(believer.log_posterior)(told)
        return jnp.mean(
            jnp.exp(jnp.take_along_axis(log_posterior, tasks.label[:, None], axis=1))
        )

    @eqx.filter_jit
    def extend(believer, state, used):
        means = lax.map(
            lambda query: mean_confidence(believer, state, query),
            jnp.arange(spec.num_queries),
        )
        best = jnp.argmax(jnp.where(used, -jnp.inf, means))
        told = jax.vmap(believer.tell, in_axes=(0, None, 0))(
            state, best, tiles[:, best]
        )
        return best, told

    order = []
    used = jnp.zeros(spec.num_queries, bool)
    for _ in range(length):
        best, state = extend(believer, state, used)
        used = used.at[best].set(True)
        order.append(int(best))
    rest = [query for query in range(spec.num_queries) if query not in order]
    return jnp.asarray(order + rest, jnp.int32)
