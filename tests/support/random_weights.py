"""Networks with random weights, without compiling how they are first drawn."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey

Module = TypeVar("Module", bound=eqx.Module)


def random_weights(
    build: Callable[[PRNGKey], Module], *, seed: int = 0, scale: float = 0.3
) -> Module:
    """What `build` makes of a key, with normal numbers for all of its weights.

    Tests that need some network, not a well scaled one, take a tenth of the time.

    Args:
        build: makes the module; it is traced, never run.
        seed: of the weights.
        scale: their standard deviation.
    """
    like = eqx.filter_eval_shape(build, jr.key(0))
    numbers = np.random.default_rng(seed)

    def draw(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        return jnp.asarray(scale * numbers.standard_normal(leaf.shape), leaf.dtype)

    return jax.tree.map(draw, like)
