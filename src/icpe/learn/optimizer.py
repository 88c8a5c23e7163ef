"""How weights move: Adam, whose step size falls at the end, and their average."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from icpe.core.arrays import PyTree, Scalar
from icpe.learn.config import TrainConfig
from icpe.learn.paper.config import PaperConfig


def adam(
    config: TrainConfig | PaperConfig, *, rise: int = 0
) -> optax.GradientTransformation:
    """Clipped Adam for one network; its step size rises over the first `rise` steps."""

    def schedule(count):
        rate = config.learning_rate * _falling(config, count)
        if rise:
            rate = rate * jnp.minimum(1.0, jnp.asarray(count, jnp.float32) / rise)
        return rate

    return optax.chain(
        optax.clip_by_global_norm(config.max_grad_norm), optax.adam(schedule)
    )


def _falling(config: TrainConfig | PaperConfig, count) -> Float[Array, "*batch"]:
    """1 until the last part of training, then down to a fiftieth."""
    total = config.num_updates
    fall = max(1.0, config.decay_fraction * total)
    return jnp.clip((total - jnp.asarray(count, jnp.float32)) / fall, 0.02, 1.0)


def parameters(nets: PyTree) -> PyTree:
    """What is optimized."""
    return eqx.filter(nets, eqx.is_inexact_array)


def polyak(averaged: PyTree, nets: PyTree, rate: Scalar | float) -> PyTree:
    """Moves the average a share of the way towards the networks."""
    return jax.tree.map(
        lambda old, new: old + rate * (new - old) if eqx.is_array(old) else old,
        averaged,
        nets,
    )
