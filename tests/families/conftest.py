"""What the tests of families share."""

import jax
import jax.random as jr
import numpy as np
import pytest


@pytest.fixture(scope="session")
def draw_tasks():
    """Draws a number of tasks of a family, as a pytree of numpy arrays."""

    def draw(family, number, seed=0):
        sample = jax.jit(jax.vmap(lambda key: family.sample_task(key=key)))
        return jax.tree.map(np.asarray, sample(jr.split(jr.key(seed), number)))

    return draw


@pytest.fixture(scope="session")
def draw_outcomes():
    """Asks a query of one task in one state with many keys."""

    def draw(family, task, query, number, state=None, seed=0):
        step = jax.jit(
            jax.vmap(
                lambda query, key: family.step(state, query, task, key=key).outcome,
                in_axes=(None, 0),
            )
        )
        keys = jr.split(jr.key(seed), number)
        return np.asarray(step(np.asarray(query, np.int32), keys))

    return draw
