"""The devices that share the episodes of every batch, on one machine or on many.

Inside of the program that runs on all of them, each has its part of a batch and adds up
with the others what concerns all. A crew of one does nothing of this.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Shaped

from icpe.core.arrays import PyTree

AXIS = "episodes"


class Crew(eqx.Module):
    """So many devices in a row."""

    size: int = eqx.field(static=True, default=1)

    @staticmethod
    def of(mesh: Mesh | None) -> "Crew":
        """The devices of a mesh; one if there is none."""
        return Crew(1 if mesh is None else mesh.size)

    def part(self, tree: PyTree) -> PyTree:
        """This device's part of the leading axis of every leaf."""
        if self.size == 1:
            return tree

        def cut(leaf: Shaped[Array, "batch ..."]) -> Array:
            each = leaf.shape[0] // self.size
            start = lax.axis_index(AXIS) * each
            return lax.dynamic_slice_in_dim(leaf, start, each)

        return jax.tree.map(cut, tree)

    def total(self, tree: PyTree) -> PyTree:
        """The sums of all numbers over the devices, in one message."""
        if self.size == 1:
            return tree
        leaves, structure = jax.tree.flatten(tree)
        flat = jnp.concatenate([jnp.ravel(leaf) for leaf in leaves])
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1].tolist()
        parts = jnp.split(lax.psum(flat, AXIS), ends)
        added = [
            part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)
        ]
        return jax.tree.unflatten(structure, added)

    def means(self, rows: PyTree) -> PyTree:
        """The mean of every leaf over all episodes, of which each device has a part."""
        if self.size == 1:
            return jax.tree.map(jnp.mean, rows)
        own: dict[str, Float[Array, ""]] = jax.tree.map(jnp.mean, rows)
        return jax.tree.map(lambda total: total / self.size, self.total(own))


ALONE = Crew()
