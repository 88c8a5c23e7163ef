"""What the tests of learning share."""

import dataclasses

import jax
import pytest

from icpe.learn.config import TrainConfig
from icpe.learn.random_play import RandomQueries


@pytest.fixture
def wanderer():
    return RandomQueries()


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
