"""Functions with large intermediate results, a few rows of a batch at a time.

Under `vmap` such a function would need the memory of a whole batch of them, and leave
the processor's caches.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax.custom_batching import custom_vmap

from icpe.core.arrays import PyTree


def in_small_batches(
    function: Callable[[PyTree, PyTree], PyTree], size: int
) -> Callable[[PyTree, PyTree], PyTree]:
    """The same function, which `vmap` calls with at most `size` rows at a time.

    Args:
        function: of what all rows share, and of one row; both trees of arrays.
        size: rows that are computed together.
    """

    @custom_vmap
    def rows(shared: PyTree, batch: PyTree) -> PyTree:
        number = jax.tree.leaves(batch)[0].shape[0]
        if number <= size:
            return jax.vmap(function, in_axes=(None, 0))(shared, batch)
        return lax.map(lambda row: function(shared, row), batch, batch_size=size)

    @rows.def_vmap
    def _(axis_size: int, in_batched: Any, shared: PyTree, batch: PyTree):
        shared_batched, rows_batched = in_batched
        if any(jax.tree.leaves(shared_batched)):
            each = jax.tree.map(lambda it: 0 if it else None, tuple(in_batched))
            found = jax.vmap(_plain, in_axes=each, axis_size=axis_size)(shared, batch)
            return found, jax.tree.map(lambda _: True, found)
        if not all(jax.tree.leaves(rows_batched)):
            batch = jax.tree.map(
                lambda leaf, batched: (
                    leaf
                    if batched
                    else jax.numpy.broadcast_to(leaf, (axis_size, *leaf.shape))
                ),
                batch,
                rows_batched,
            )
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)
        found = rows(shared, flat)
        found = jax.tree.map(
            lambda leaf: leaf.reshape(axis_size, -1, *leaf.shape[1:]), found
        )
        return found, jax.tree.map(lambda _: True, found)

    def _plain(shared: PyTree, batch: PyTree) -> PyTree:
        return jax.vmap(function, in_axes=(None, 0))(shared, batch)

    def one(shared: PyTree, row: PyTree) -> PyTree:
        batch = jax.tree.map(lambda leaf: leaf[None], row)
        return jax.tree.map(lambda leaf: leaf[0], rows(shared, batch))

    return one
