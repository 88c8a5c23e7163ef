"""Marks for parts of an explorer's state that a batched rollout treats specially."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from icpe.core.arrays import Index, PyTree


class StepCount(eqx.Module):
    """A step counter that is equal in all episodes of a lock-step batch.

    `rollout` maps over everything in an explorer's state except this, so that a
    cache indexed by it is written by one slice and not by a scatter. It also keeps
    `bound`, a static upper limit of `value`, as low as it knows, so that only the
    part of a cache that may be filled is read. After the end of an episode it means
    nothing: `recommend` and `log_posterior` must not read it.
    """

    value: Index
    bound: int = eqx.field(static=True)

    def next(self) -> "StepCount":
        """The count after one more step."""
        return StepCount(self.value + 1, self.bound)


class Growing(eqx.Module):
    """Memory with one entry per step along `axis`, counted from the end.

    It starts with room for all steps; `rollout` cuts it to the bound of its step
    counters and lets it grow with them, so that early steps touch little memory.
    """

    value: PyTree
    axis: int = eqx.field(static=True)
    unit: int = eqx.field(static=True, default=1)
    """Lengths are multiples of it, which products on an accelerator may ask for."""

    def resized(self, length: int) -> "Growing":
        """With room for so many entries, filled up by zeros."""
        length += -length % self.unit

        def resize(leaf: Array) -> Array:
            axis = self.axis % leaf.ndim
            missing = length - leaf.shape[axis]
            if missing <= 0:
                return lax.slice_in_dim(leaf, 0, length, axis=axis)
            padding = [(0, missing if i == axis else 0) for i in range(leaf.ndim)]
            return jnp.pad(leaf, padding)

        return Growing(jax.tree.map(resize, self.value), self.axis, self.unit)


class Scratch(eqx.Module):
    """Working memory that `recommend` and `log_posterior` never read.

    `rollout` keeps an episode's state as it was when the episode ended, while others
    go on; it spares scratch memory that copy.
    """

    value: PyTree
