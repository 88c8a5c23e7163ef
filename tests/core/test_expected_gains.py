"""What queries are expected to tell: tables, and cells of them."""

import jax.numpy as jnp
import numpy as np

from icpe.core.expected_gains import OutcomeTable

RANDOM = np.random.default_rng(1)
TABLE = RANDOM.dirichlet(np.full(64, 0.7), size=(4, 3))  # hypotheses, queries, cells
WEIGHTS = RANDOM.dirichlet(np.ones(4))


def table(probability=TABLE):
    return OutcomeTable(jnp.asarray(probability, jnp.float32), has_cells=True)


def mutual_information(weights, probability):
    """Of each query, by its definition."""
    joint = weights[:, None, None] * probability
    alone = weights[:, None, None] * joint.sum(axis=0, keepdims=True)
    return np.sum(joint * np.log(joint / alone), axis=(0, 2))


def right_after(weights, probability):
    return np.max(weights[:, None, None] * probability, axis=0).sum(axis=1)


def test_a_table_is_exact():
    weights = jnp.asarray(WEIGHTS, jnp.float32)
    np.testing.assert_allclose(
        table().gains(weights), mutual_information(WEIGHTS, TABLE), atol=1e-5
    )
    found = table().right_after(weights)
    assert found is not None
    np.testing.assert_allclose(found, right_after(WEIGHTS, TABLE), atol=1e-6)


def test_fewer_cells_are_those_of_neighbors_together_and_never_tell_more():
    halved = table().coarser()
    assert halved is not None
    together = TABLE.reshape(4, 3, 32, 2).sum(axis=-1)
    np.testing.assert_allclose(halved.probability, together, atol=1e-6)
    weights = jnp.asarray(WEIGHTS, jnp.float32)
    assert np.all(halved.gains(weights) < table().gains(weights))
    assert halved.coarser() is None  # too few would be left
    symbols = OutcomeTable(jnp.asarray(TABLE, jnp.float32))
    assert symbols.coarser() is None  # answers of different meaning stay apart


def test_who_is_sure_learns_nothing():
    sure = jnp.zeros(4).at[1].set(1.0)
    np.testing.assert_allclose(table().gains(sure), 0.0, atol=1e-6)
    after = table().right_after(sure)
    assert after is not None
    np.testing.assert_allclose(after, 1.0, atol=1e-6)


def test_where_it_would_take_long_the_best_guess_is_not_looked_for():
    large = OutcomeTable(jnp.full((40, 40, 16), 1 / 16))
    assert large.right_after(jnp.full(40, 1 / 40)) is None
