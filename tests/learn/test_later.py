"""Answers that come only after others are counted, too."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.family import AbstractTaskFamily, StepResult, plain_reset, plain_step
from icpe.core.spec import TaskSpec
from icpe.learn.later import Later, carries_state
from icpe.learn.survey import survey

CHANCES = np.where(np.eye(4, 5, 1) > 0, 0.9, 0.2)  # query 0 opens the box


class Box(AbstractTaskFamily):
    """A box must be opened before its four contents can be tested."""

    @property
    def spec(self):
        return TaskSpec(5, 4, 1, horizon=16, masks_queries=True, reveals=False)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, 4)

    def hypothesis(self, task):
        return task

    def reset(self, task, *, key):
        return self.result(jnp.asarray(False), jnp.zeros(1))

    def step(self, state, query, task, *, key):
        chance = jnp.asarray(CHANCES, jnp.float32)[task, query]
        sign = jnp.where(jr.bernoulli(key, chance), 1.0, -1.0)
        return self.result(jnp.asarray(True), jnp.where(query == 0, 0.0, sign)[None])

    def result(self, is_open, outcome):
        is_test = jnp.arange(5) > 0
        return StepResult(is_open, outcome, is_test == is_open, False)


class Short(Box):
    """It ends with the first test that is positive; each can be made once."""

    @property
    def spec(self):
        return TaskSpec(5, 4, 1, horizon=16, ask_once=True, may_end=True)

    def result(self, is_open, outcome):
        return StepResult(is_open, outcome, jnp.ones(5, bool), outcome[0] > 0)


class Plain(Box):
    """Nothing has to be opened."""

    @property
    def spec(self):
        return TaskSpec(5, 4, 1, horizon=16)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        return plain_step(self.spec, jnp.zeros(1))


class Tiring(Box):
    """Four tests, each of which tells less right after itself or its neighbor."""

    @property
    def spec(self):
        return TaskSpec(4, 4, 1, horizon=16)

    def reset(self, task, *, key):
        return StepResult(jnp.asarray(-9), jnp.zeros(1), jnp.ones(4, bool), False)

    def step(self, state, query, task, *, key):
        chance = jnp.where(query == task, 0.9, 0.1)
        chance = jnp.where(jnp.abs(query - state) <= 1, 0.5, chance)
        outcome = jr.bernoulli(key, chance).astype(jnp.float32)[None]
        return StepResult(query, outcome, jnp.ones(4, bool), False)


@pytest.mark.parametrize(
    ("family", "expected"), [(Box(), True), (Short(), True), (Plain(), False)]
)
def test_what_an_episode_changes_is_seen(family, expected):
    assert carries_state(family) == expected


def test_tables_know_queries_that_cannot_come_first():
    """Greedy tests of four contents are nearly always right within 16 queries."""
    found = survey(Box())
    assert found.predictions is not None and found.trust == 1.0
    assert found.pilot is not None and found.pilot.at_horizon > 0.95


def test_where_earlier_queries_change_the_law_there_is_more_to_be_learned():
    """Answers after random queries are truer to it, but tables are its mean."""
    found = survey(Tiring())
    assert found.predictions is not None and found.trust == 0.75
    chances = np.asarray(found.predictions.outcomes.cells)  # of 0 and 1
    assert 0.5 < chances[0, 1, 0] < 0.85  # between tired and not


@eqx.filter_jit
def _resets(family, keys):
    later = Later.of(family)
    tasks = jax.vmap(lambda key: family.sample_task(key=key))(keys)
    return jax.vmap(lambda task, key: later.reset(task, key=key))(tasks, keys)


def test_episodes_begin_as_random_queries_leave_them():
    found = _resets(Box(), jr.split(jr.key(0), 512))
    np.testing.assert_array_equal(found.outcome, 0.0)
    opened = np.asarray(found.state)
    np.testing.assert_array_equal(found.query_mask[:, 0], ~opened)
    # From 0 to 15 queries, all equally probable: one in 16 is still closed. The
    # probability of fewer than 8 or more than 70 of 512 is below 1e-6.
    assert 8 <= np.sum(~opened) <= 70


def test_queries_that_were_made_or_come_too_late_are_forbidden():
    found = _resets(Short(), jr.split(jr.key(0), 512))
    allowed = np.asarray(found.query_mask)
    assert not allowed[np.asarray(found.terminated)].any()
    goes_on = allowed[~np.asarray(found.terminated)]
    assert not goes_on.all() and goes_on.any()
