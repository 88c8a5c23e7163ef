"""What the tests of families share."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.history import History
from icpe.core.likelihood import belief_for


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


@pytest.fixture(scope="session")
def history_of():
    """The record of pairs of a query and an outcome of one number."""

    def record(*pairs):
        return History(
            jnp.array([query for query, _ in pairs], jnp.int32),
            jnp.array([[0.0], *([outcome] for _, outcome in pairs)], jnp.float32),
            jnp.asarray(len(pairs)),
        )

    return record


@pytest.fixture(scope="session")
def posterior_after():
    """The exact posterior of a family after pairs of a query and an outcome."""

    def posterior(family, *pairs):
        belief = belief_for(family)
        state = belief.init(jnp.zeros(1))
        for query, outcome in pairs:
            state = belief.update(state, jnp.asarray(query), jnp.float32(outcome)[None])
        return np.exp(belief.log_posterior(state))

    return posterior
