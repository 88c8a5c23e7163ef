"""A function that `vmap` calls with a few rows at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.small_batches import in_small_batches


def norm(shared, row):
    return {"sum": jnp.sum(shared * row), "row": row + shared}


@pytest.fixture
def few():
    return in_small_batches(norm, 4)


@pytest.mark.parametrize("shape", [(), (3,), (4,), (11,), (3, 5), (2, 3, 2)])
def test_it_is_the_function_mapped(few, shape):
    shared = jnp.arange(1.0, 4.0)
    rows = jnp.arange(3.0 * np.prod(shape, dtype=int)).reshape(*shape, 3)
    mapped, expected = few, norm
    for _ in shape:
        mapped = jax.vmap(mapped, in_axes=(None, 0))
        expected = jax.vmap(expected, in_axes=(None, 0))
    found = jax.jit(mapped)(shared, rows)
    jax.tree.map(np.testing.assert_array_equal, found, expected(shared, rows))


def test_what_rows_share_may_have_a_batch_of_its_own(few):
    shared, rows = jnp.arange(6.0).reshape(2, 3), jnp.ones((2, 5, 3))
    each = jax.vmap(jax.vmap(few, in_axes=(None, 0)))(shared, rows)
    expected = jax.vmap(jax.vmap(norm, in_axes=(None, 0)))(shared, rows)
    jax.tree.map(np.testing.assert_array_equal, each, expected)


def test_many_rows_do_not_need_the_memory_of_all():
    def large(shared, row):
        return jnp.sum(jnp.sin(jnp.outer(shared + row[0], shared)))

    shared, rows = jnp.arange(256.0), jnp.zeros((512, 1))
    function = jax.vmap(in_small_batches(large, 4), in_axes=(None, 0))
    needed = jax.jit(function).lower(shared, rows).compile().memory_analysis()
    assert needed is not None
    assert needed.temp_size_in_bytes < 16 * 256 * 256 * 4


def test_equal_rows_are_computed_once():
    calls = []

    def counted(shared, row):
        jax.debug.callback(lambda it: calls.append(float(it)), row[0])
        return shared * row

    function = jax.jit(jax.vmap(in_small_batches(counted, 2), in_axes=(None, 0)))
    rows = jnp.asarray([3.0, 1.0, 3.0, 2.0, 1.0, 3.0, 3.0])[:, None]
    found = function(jnp.asarray(10.0), rows)
    jax.effects_barrier()
    np.testing.assert_array_equal(found, 10.0 * rows)
    assert len(calls) == 4 and set(calls) == {1.0, 2.0, 3.0}  # two batches of two


def test_rows_that_only_look_alike_are_told_apart():
    """Sums of their numbers may agree, and what is no number differs from itself."""
    rows = jnp.asarray([[1.0, 2.0], [jnp.nan, 0.0], [2.0, 1.0], [jnp.nan, 0.0]])
    function = jax.vmap(in_small_batches(lambda _, row: row, 1), in_axes=(None, 0))
    np.testing.assert_array_equal(jax.jit(function)(jnp.zeros(()), rows), rows)
