"""What the tests of learning share."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from icpe.core.explorer import AbstractExplorer
from icpe.learn.config import TrainConfig


class Wanderer(AbstractExplorer):
    """Asks any allowed query and never stops."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(())

    def ask(self, state, query_mask, *, key):
        noise = jr.uniform(key, query_mask.shape)
        return jnp.argmax(jnp.where(query_mask, noise, -1.0))

    def tell(self, state, query, outcome):
        return state

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


@pytest.fixture
def wanderer():
    return Wanderer()


@pytest.fixture(scope="session")
def whole_config():
    """A training of three chunks, which takes no time."""
    return TrainConfig(
        num_iterations=6,
        batch_size=8,
        minibatch_size=8,
        updates_per_iteration=1,
        replay_size=32,
        warmup_iterations=1,
        width=4,
        num_layers=1,
        num_heads=1,
        log_every=2,
    )


@pytest.fixture
def tiny(whole_config):
    """The same with changes."""
    return lambda **changes: dataclasses.replace(whole_config, **changes)


@pytest.fixture
def optax_dtypes():
    """Lets dtypes mix, as optax does in Adam's correction of its start."""
    with jax.numpy_dtype_promotion("standard"):
        yield
