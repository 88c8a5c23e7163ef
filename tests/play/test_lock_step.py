"""Gathering those that still run changes no episode.

Against batches that are too small to be gathered, which `test_rollout` compares with
a plain loop.
"""

import functools as ft
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.explorer import AbstractExplorer
from icpe.core.memory import Growing, Scratch, StepCount
from icpe.core.request import OperatingPoint, Regime
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families.gaussian_bandit import GaussianBandit
from icpe.families.magic_room import MagicRoom
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import rollout, rollout_chunks
from support.random_weights import random_weights


@pytest.fixture(autouse=True)
def small_batches_are_gathered(monkeypatch):
    monkeypatch.setattr("icpe.play.lock_step._SMALLEST_BLOCK", 64)


FAMILY = GaussianBandit(num_arms=4, horizon=48, vary_arms=True)
TOO_SMALL = 50


class Memory(NamedTuple):
    step: StepCount
    seen: Growing
    inner: Any


class Rememberer(AbstractExplorer):
    """Asks by all it has seen, stops at random, and answers by its whole memory.

    Its queries and stops hang on the caches of the explorer inside, its answers on a
    memory of its own that grows.
    """

    explorer: NeuralExplorer
    stop_rate: float

    def init(self, spec, operating_point, first_outcome) -> Any:
        inner = self.explorer.init(spec, operating_point, first_outcome)
        step = StepCount(jnp.zeros((), jnp.int32), spec.horizon)
        seen = Growing(jnp.zeros((spec.horizon + 1, 1)), -2)
        return Memory(step, seen, inner)

    def ask(self, state, query_mask, *, key):
        stop = jr.uniform(key) < self.stop_rate
        query = self.explorer.best_query(state.inner, query_mask)
        return jnp.where(stop & (state.inner.price > 0), STOP, query)

    def tell(self, state, query, outcome):
        seen = state.seen.value.at[state.step.value, 0].set(jnp.sum(outcome))
        inner = self.explorer.tell(state.inner, query, outcome)
        return Memory(state.step.next(), Growing(seen, -2), inner)

    def recommend(self, state):
        return jnp.sum(state.seen.value > 1.0) % 4

    def log_posterior(self, state):
        return state.inner.estimates.log_posterior + jnp.sum(state.seen.value)


@ft.cache
def rememberer(family, stop_rate=0.05) -> Rememberer:
    config = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2))
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, config, PriceRange(0.01, 0.2), key=key)
    )
    return Rememberer(NeuralExplorer(nets), stop_rate)


class Counter(AbstractExplorer):
    """Asks by its scratch memory, answers by one that grows, and stops at random."""

    def init(self, spec, operating_point, first_outcome) -> Any:
        step = StepCount(jnp.zeros((), jnp.int32), spec.horizon)
        seen = Growing(jnp.zeros((spec.horizon + 1, 1)), -2)
        return Memory(step, seen, Scratch(jnp.sum(first_outcome)))

    def ask(self, state, query_mask, *, key):
        query = jnp.where(state.inner.value > 0.0, 1, 2) + state.step.value
        return jnp.where(jr.uniform(key) < 0.2, STOP, query % 4)

    def tell(self, state, query, outcome):
        seen = state.seen.value.at[state.step.value, 0].set(outcome[0])
        scratch = Scratch(state.inner.value + outcome[0])
        return Memory(state.step.next(), Growing(seen, -2), scratch)

    def recommend(self, state):
        return jnp.sum(state.seen.value > 0.5) % 4

    def log_posterior(self, state):
        return jax.nn.log_softmax(state.seen.value[:4, 0])


def in_chunks(family, point, num_episodes, size, explorer=None):
    chunks = rollout_chunks(
        rememberer(family) if explorer is None else explorer,
        family,
        point,
        num_episodes,
        key=jr.key(1),
        keep_posterior=True,
        chunk_size=size,
    )
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *chunks)


def assert_equal(large, small):
    for one, other in zip(jax.tree.leaves(large), jax.tree.leaves(small), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("horizon", [9, 48])
def test_scratch_memory_and_step_counts_go_on_in_the_next_block(horizon):
    family = GaussianBandit(num_arms=4, horizon=horizon)
    point = OperatingPoint.at(horizon, price=0.05)
    large = in_chunks(family, point, 150, 150, Counter())
    lengths = large.ending.num_queries
    assert lengths.min() == 0 and lengths.max() > 8
    assert_equal(large, in_chunks(family, point, 150, TOO_SMALL, Counter()))


@pytest.mark.slow
def test_with_a_price_episodes_of_all_lengths_stay_as_they_are():
    """Gathered every two steps, 69 at a time."""
    point = OperatingPoint.at(FAMILY.horizon, price=0.05)
    large = in_chunks(FAMILY, point, 1100, 1100)
    lengths = large.ending.num_queries
    assert 275 < np.sum(lengths > 16) < 550
    assert np.any(lengths < 16) and np.any(lengths > 32)
    assert_equal(large, in_chunks(FAMILY, point, 1100, TOO_SMALL))


@pytest.mark.slow
def test_with_a_budget_all_run_on_also_where_the_parts_do_not_divide():
    """Four blocks of 64 episodes, and one of the last three."""
    point = OperatingPoint.at(FAMILY.horizon, budget=FAMILY.horizon)
    large = in_chunks(FAMILY, point, 259, 259)
    assert (large.ending.num_queries == FAMILY.horizon).all()
    assert (large.ending.cost == FAMILY.horizon).all()
    assert_equal(large, in_chunks(FAMILY, point, 259, TOO_SMALL))


@pytest.mark.slow
def test_where_the_family_ends_episodes():
    family = MagicRoom(size=6)
    point = OperatingPoint.at(family.spec.horizon, price=0.05)
    large = in_chunks(family, point, 259, 259)
    assert len(np.unique(large.ending.stop_reason)) > 1
    assert_equal(large, in_chunks(family, point, 259, TOO_SMALL))


@pytest.mark.slow
def test_requests_and_caps_of_their_own_stay_with_their_episodes():
    number = np.arange(259)
    points = OperatingPoint(
        price=jnp.asarray(np.where(number % 3 == 0, 0.0, 0.05), jnp.float32),
        error_prob=jnp.zeros(259),
        max_queries=jnp.asarray(number % FAMILY.horizon + 1, jnp.int32),
        regime=Regime.MIXED,
    )
    keys = jr.split(jr.key(2), 259)
    play = jax.jit(
        lambda points, keys: rollout(rememberer(FAMILY), FAMILY, points, keys=keys)
    )
    large = play(points, keys)
    parts = [
        play(*jax.tree.map(lambda leaf, at=at: leaf[at : at + 37], (points, keys)))
        for at in range(0, 259, 37)
    ]
    small = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
    assert np.sum(large.ending.num_queries > 16) > 64
    assert_equal(large, small)
