"""What every learner does with a gradient: clipped Adam on each network of a pair."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import equinox as eqx
import jax
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from icpe.core.arrays import PyTree, Scalar
from icpe.learn.config import CommonConfig

_LOWEST_SHARE = 0.02

Nets = TypeVar("Nets")


def adam(config: CommonConfig, *, rise: int = 0) -> optax.GradientTransformation:
    """Clipped Adam for one network.

    Its step size rises over the first `rise` steps and falls to a fiftieth over the
    last part of training.
    """
    total = config.num_updates
    fall = max(1, round(config.decay_fraction * total))
    falling = optax.linear_schedule(
        1.0, _LOWEST_SHARE, max(1, round((1 - _LOWEST_SHARE) * fall)), total - fall
    )
    rising = optax.linear_schedule(0.0, 1.0, rise)

    def schedule(count):
        rate = config.learning_rate * falling(count)
        return rate * rising(count) if rise else rate

    return optax.chain(
        optax.clip_by_global_norm(config.max_grad_norm), optax.adam(schedule)
    )


def parameters(nets: PyTree) -> PyTree:
    """What is optimized."""
    return eqx.filter(nets, eqx.is_inexact_array)


def gradient_step(
    optimizer: optax.GradientTransformation,
    state: PyTree,
    nets: PyTree,
    loss: Callable[[Any], tuple[Any, dict[str, Array]]],
) -> tuple[PyTree, PyTree, dict[str, Float[Array, ""]]]:
    """Moves a stacked pair of networks down the gradient of a loss.

    The leading axis of every array is the pair; each network has its own norm to clip.

    Args:
        optimizer: of one network.
        state: its states, stacked.
        nets: the networks.
        loss: of the networks; also gives what is to be reported.

    Returns:
        The networks, the states of the optimizer, and what is to be reported with the
        norm of the whole gradient.
    """
    gradient, reported = eqx.filter_grad(loss, has_aux=True)(nets)
    gradient = parameters(gradient)
    updates, state = jax.vmap(optimizer.update)(gradient, state, parameters(nets))
    reported = {**reported, "grad_norm": optax.tree.norm(gradient)}
    return eqx.apply_updates(nets, updates), state, reported


def polyak(nets: Nets, averaged: Nets, rate: Scalar | float) -> Nets:
    """The average, moved a share of the way towards the networks."""
    return cast(Any, optax.incremental_update)(nets, averaged, rate)


def shard(tree: PyTree, mesh: Mesh | None) -> PyTree:
    """Shards the leading axis of every leaf over the mesh."""
    if mesh is None:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))
    return lax.with_sharding_constraint(tree, sharding)
