"""Functions with large intermediate results, a few rows of a batch at a time.

Under `vmap` such a function would need the memory of a whole batch of them, and leave
the processor's caches. Rows that are equal are computed once: episodes that begin alike
are often in the same state.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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
        few = jax.vmap(function, in_axes=(None, 0))
        if number <= size:
            return few(shared, batch)
        return _distinct_rows(lambda some: few(shared, some), batch, size)

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
                    else jnp.broadcast_to(leaf, (axis_size, *leaf.shape))
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


def _distinct_rows(few: Callable[[PyTree], PyTree], batch: PyTree, size: int) -> PyTree:
    """A function of some rows at all rows, with a loop over those that differ."""
    number = jax.tree.leaves(batch)[0].shape[0]
    order, is_first = _alike(batch)
    place = jnp.cumsum(is_first) - 1
    padded = -(-number // size) * size
    chosen = (
        jnp.zeros(padded, int)
        .at[jnp.where(is_first, place, padded)]
        .set(order, mode="drop")
    )

    def part(start):
        index = lax.dynamic_slice_in_dim(chosen, start, size)
        return few(jax.tree.map(lambda leaf: leaf[index], batch))

    def step(carry):
        start, found = carry
        found = jax.tree.map(
            lambda all_, some: lax.dynamic_update_slice_in_dim(all_, some, start, 0),
            found,
            part(start),
        )
        return start + size, found

    shapes = jax.eval_shape(part, jnp.zeros((), int))
    empty = jax.tree.map(
        lambda it: jnp.zeros((padded, *it.shape[1:]), it.dtype), shapes
    )
    start = jnp.zeros((), int)
    _, found = lax.while_loop(lambda carry: carry[0] <= place[-1], step, (start, empty))
    back = jnp.zeros(number, int).at[order].set(place)
    return jax.tree.map(lambda leaf: leaf[back], found)


def _alike(batch: PyTree):
    """An order of rows in which equal ones are neighbors, and which are the first.

    They are sorted by a random sum of their numbers. Should different rows have the
    same sum, some equal ones may be computed twice, which does no harm.
    """
    leaves = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(batch)]
    sums = []
    for seed, leaf in enumerate(leaves):
        weights = np.random.default_rng(seed).normal(size=leaf.shape[1])
        sums.append(jnp.matmul(leaf.astype(jnp.float32), weights.astype(np.float32)))
    order = jnp.argsort(sum(sums))
    sorted_ = [leaf[order] for leaf in leaves]
    differs = [jnp.any(it[1:] != it[:-1], axis=1) for it in sorted_]
    is_first = jnp.any(jnp.stack(differs), axis=0)
    return order, jnp.concatenate([jnp.ones(1, bool), is_first])
