"""Iterations of the universal learner."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.learn.layout import device_mesh, placed, run_chunk
from icpe.learn.learner import UniversalLearner
from icpe.learn.survey import survey
from support.toy_tasks import Lockers, TwoDoors

pytestmark = pytest.mark.usefixtures("optax_dtypes")
FAMILY = TwoDoors(horizon=3)


@pytest.fixture
def learner(whole_config):
    mesh = device_mesh(whole_config)
    return UniversalLearner(FAMILY, whole_config, survey(FAMILY), mesh)


def start(learner, seed=0):
    """A fresh state, by the program that every training begins with."""
    return placed(learner, eqx.filter_jit(learner.init)(key=jr.key(seed), nets=None))


@eqx.filter_jit
def step(learner, state):
    return learner.step(state)


def leaves(tree):
    return jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))


def test_iterations_play_remember_and_learn(learner):
    before = leaves(start(learner).nets)
    # The first step has size 0; the second moves heads, which are 0 before; then all.
    after, metrics = run_chunk(learner, start(learner), 3)
    assert after.iteration == 3
    assert after.replay.added == 24
    assert 0.0 <= metrics.accuracy <= 1.0
    assert 0.0 <= metrics.mean_queries <= 3.0
    assert all(np.isfinite(value) for value in jax.tree.leaves(metrics))
    assert not np.array_equal(jr.key_data(after.key), jr.key_data(start(learner).key))
    moved = [np.any(a != b) for a, b in zip(before, leaves(after.nets), strict=True)]
    assert np.mean(moved) > 0.5


@pytest.mark.slow
def test_the_networks_that_ship_follow_slowly(learner, tiny):
    state = learner.init(key=jr.key(0))
    for one, other in zip(leaves(state.nets), leaves(state.averaged), strict=True):
        np.testing.assert_array_equal(one, other)
    # The first step has size 0, the second does not.
    state, _ = step(learner, state)
    before = state
    after, _ = step(learner, state)
    rate = tiny().target_rate
    moved = False
    for old, new, nets in zip(
        leaves(before.averaged), leaves(after.averaged), leaves(after.nets), strict=True
    ):
        np.testing.assert_allclose(new, old + rate * (nets - old), atol=1e-6)
        moved = moved or bool(jnp.any(new != old))
    assert moved
    shipped = learner.explorer(after).nets
    for one, other in zip(
        leaves((shipped.trainable(), shipped.predictions)),
        leaves((after.averaged, after.predictions)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_the_same_key_gives_the_same_training(learner):
    def run(seed):
        return leaves(run_chunk(learner, start(learner, seed), 2)[0].nets)

    for one, other in zip(run(0), run(0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(np.any(a != b) for a, b in zip(run(0), run(1), strict=True))


@pytest.mark.slow
def test_families_with_masks_are_learned_with_cropped_updates(tiny):
    config = tiny(updates_per_iteration=2, cropped_updates=1, crop_steps=2)
    learner = UniversalLearner(Lockers(), config, survey(Lockers()))
    state, metrics = step(learner, learner.init(key=jr.key(0)))
    assert state.replay.episodes.query_masks is not None
    assert np.isfinite(metrics.query_loss)


def test_given_networks_are_where_training_starts(learner):
    nets = eqx.filter_jit(learner.new_networks)(key=jr.key(5))
    state = eqx.filter_jit(learner.init)(key=jr.key(0), nets=nets)
    for one, other in zip(
        leaves((state.nets, state.predictions)),
        leaves((nets.trainable(), nets.predictions)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert dataclasses.asdict(state.nets.config) == dataclasses.asdict(nets.config)
