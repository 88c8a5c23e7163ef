"""Networks that start from an exact belief are exported with it."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe import workflow
from icpe.artifact import Artifact
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily, parameter, plain_reset, plain_step
from icpe.core.spec import TaskSpec
from icpe.export.check import histories_of
from icpe.families import BernoulliBandit, BinarySearch, CaseTable
from icpe.families.network import Network
from icpe.studies.tiny import TINY
from support.exports import Twins, knowing


class Thermometer(AbstractTaskFamily):
    """A user's own: which of several ovens is hot, by readings with outliers."""

    num_ovens: int = parameter(4, "how many ovens there are")

    @property
    def spec(self):
        n = self.num_ovens
        return TaskSpec(n, n, outcome_size=1, horizon=6, reveals=False)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, self.num_ovens)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        noise, chance = jr.split(key)
        scale = jnp.where(jr.bernoulli(chance, 0.1), 3.0, 0.5)
        reading = jnp.float32(query == task) + scale * jr.normal(noise)
        return plain_step(self.spec, reading[None])

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        apart = outcome[0] - jnp.float32(query == hypothesis)
        wide = jnp.log(0.1 / 3.0) - 0.5 * jnp.square(apart / 3.0)
        narrow = jnp.log(0.9 / 0.5) - 0.5 * jnp.square(apart / 0.5)
        return jnp.logaddexp(wide, narrow) - 0.5 * jnp.log(2.0 * jnp.pi)


FAMILIES = {
    "search": BinarySearch(size=4),
    "network": Network(),
    "table": CaseTable(),
    "own": Thermometer(),
}


@pytest.fixture
def optax_dtypes():
    """Lets dtypes mix, as optax does in Adam's correction of its start."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def played_alike(artifact: Artifact, **asked) -> int:
    """How many answers were compared in a few episodes."""
    compared = 0
    for history in histories_of(artifact.family):
        twins = Twins(artifact, **asked)
        for query, outcome, *_ in history[1:]:
            if twins.one.stopped:
                break
            twins.tell(int(query), outcome)
            compared += 1
    return compared


@pytest.mark.parametrize("name", FAMILIES)
def test_the_belief_is_a_part_of_the_step(name):
    family = FAMILIES[name]
    artifact = knowing(family)
    assert played_alike(artifact, budget=family.spec.horizon) >= 3
    assert played_alike(artifact, price=0.01)


def test_where_nothing_is_left_to_learn_both_ask_the_same():
    artifact = knowing(FAMILIES["search"])
    twins = Twins(artifact, budget=4)
    for query in (1, 2, 0, 3):  # the second leaves one number
        twins.tell(query, float(np.sign(2 - query)))
    assert twins.two.recommendation == 2


TRAINED = FAMILIES | {"arms": BernoulliBandit(num_arms=3, horizon=6)}
"""The belief of arms looks ahead by counted tables."""
del TRAINED["table"]  # whose explorers are made by icpe train-table


def test_a_table_is_refused_before_training_starts():
    with pytest.raises(UnsupportedError, match="make it with icpe train-table"):
        workflow.train(FAMILIES["table"], TINY)


@pytest.mark.slow
@pytest.mark.usefixtures("optax_dtypes")
@pytest.mark.parametrize("name", TRAINED)
def test_what_was_just_trained_is_exported(name, tmp_path):
    family = TRAINED[name]
    config = dataclasses.replace(TINY, num_iterations=8)
    trained = workflow.train(family, config, calibration_episodes=8).artifact
    trained.save(tmp_path / "trained.safetensors")
    artifact = Artifact.load(tmp_path / "trained.safetensors", family=family)
    assert played_alike(artifact, budget=family.spec.horizon) >= 3


@pytest.mark.slow
@pytest.mark.usefixtures("whole_surveys", "optax_dtypes")
def test_counted_ranges_are_saved_and_exported(tmp_path):
    config = dataclasses.replace(TINY, num_iterations=8, predictions="counted")
    family = FAMILIES["own"]
    trained = workflow.train(family, config, calibration_episodes=8).artifact
    shape = trained.universal_nets.config.predictions
    assert shape is not None and shape.kind == "ranges"
    trained.save(tmp_path / "trained.safetensors")
    artifact = Artifact.load(tmp_path / "trained.safetensors", family=family)
    assert played_alike(artifact, budget=family.spec.horizon) >= 3
