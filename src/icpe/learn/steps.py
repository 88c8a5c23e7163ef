"""What every learner does with a gradient: clipped Adam on each network of a pair."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int

from icpe.core.arrays import PyTree, Scalar
from icpe.learn.config import CommonConfig
from icpe.learn.crew import ALONE, Crew

_LOWEST_SHARE = 0.02

Nets = TypeVar("Nets")


def adam(config: CommonConfig) -> optax.GradientTransformation:
    """Adam on a clipped gradient of one network, for a step size given at each step."""
    clip = optax.clip_by_global_norm(config.max_grad_norm)
    return optax.chain(clip, optax.scale_by_adam())


def step_size(
    config: CommonConfig, updates: Int[Array, ""], total: Int[Array, ""], rise: int = 0
) -> Scalar:
    """Rises over the first `rise` updates and falls over the last part of all.

    How many there will be may change while training goes on.
    """
    left = (total - updates).astype(jnp.float32)
    fall = jnp.maximum(config.decay_fraction * total, 1.0)
    share = jnp.clip(left / fall, _LOWEST_SHARE, 1.0)
    if rise:
        share = share * jnp.minimum(1.0, updates / rise)
    return config.learning_rate * share


def parameters(nets: PyTree) -> Float[Array, "2 parameters"]:
    """What is optimized, as one vector for each network of a pair.

    One vector takes a fraction of the time to compile that many arrays take.
    """
    leaves = jax.tree.leaves(eqx.filter(nets, eqx.is_inexact_array))
    return jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=1)


def gradient_step(
    optimizer: optax.GradientTransformation,
    state: PyTree,
    nets: PyTree,
    loss: Callable[[Any], tuple[Any, dict[str, Array]]],
    size: Scalar,
    crew: Crew = ALONE,
) -> tuple[PyTree, PyTree, dict[str, Float[Array, ""]]]:
    """Moves a stacked pair of networks down the gradient of a loss.

    The leading axis of every array is the pair; each network has its own norm to clip.

    Args:
        optimizer: of one network.
        state: its states, stacked.
        nets: the networks.
        loss: of the networks, or a device's part of it; also gives what is to be
            reported.
        size: of the step.
        crew: the devices whose parts add up to the loss.

    Returns:
        The networks, the states of the optimizer, and what is to be reported with the
        norm of the whole gradient.
    """
    gradient, reported = eqx.filter_grad(loss, has_aux=True)(nets)
    gradient, reported = crew.total((parameters(gradient), reported))
    updates, state = jax.vmap(optimizer.update)(gradient, state)
    reported = {**reported, "grad_norm": jnp.linalg.norm(gradient)}
    return _add(nets, -size * jnp.asarray(updates)), state, reported


def _add(nets: PyTree, vectors: Float[Array, "2 parameters"]) -> PyTree:
    """The networks, moved by a vector each."""
    arrays, rest = eqx.partition(nets, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(arrays)
    ends = np.cumsum([leaf[0].size for leaf in leaves])[:-1].tolist()
    parts = jnp.split(vectors, ends, axis=1)
    moved = [
        leaf + part.reshape(leaf.shape)
        for leaf, part in zip(leaves, parts, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, moved), rest)


def polyak(nets: Nets, averaged: Nets, rate: Scalar | float) -> Nets:
    """The average, moved a share of the way towards the networks."""

    def move(new, old):
        return old + rate * (new - old) if eqx.is_inexact_array(new) else new

    return jax.tree.map(move, nets, averaged)


def shard(tree: PyTree, mesh: Mesh | None) -> PyTree:
    """Shards the leading axis of every leaf over the mesh."""
    if mesh is None:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))
    return lax.with_sharding_constraint(tree, sharding)
