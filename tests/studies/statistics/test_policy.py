"""Allocations of explorers whose every query is known."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import UnsupportedError
from icpe.core.request import Request
from icpe.explorers import AbstractExplorer
from icpe.families import DeterministicBandit, GaussianBandit
from icpe.studies.statistics.policy import (
    Allocation,
    inverse_gap_proportions,
    measure_allocation,
    optimal_proportions,
    policy_statistics,
)
from support.toy_tasks import TwoBits

# Three episodes: 0 1 2, then 0 0, then 1.
BUDGET = Request(budget=5)
QUERIES = np.array([[0, 1, 2], [0, 0, STOP], [1, STOP, STOP]])


class Rounds(AbstractExplorer):
    """Pulls 0, 1, 2, 0, 1, 2, ..."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros((), jnp.int32)

    def ask(self, state, query_mask, *, key):
        return state % 3

    def tell(self, state, query, outcome):
        return state + 1

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


def test_the_allocation_counts_queries_by_kind_and_time():
    found = Allocation.of(QUERIES, 3)
    assert found.counts.tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert found.running.tolist() == [3, 2, 1]
    np.testing.assert_allclose(found.fractions, [3 / 6, 2 / 6, 1 / 6])
    np.testing.assert_allclose(found.policy[0], [2 / 3, 1 / 3, 0])


def test_entropy_and_quantiles_are_those_of_the_average_policy():
    found = Allocation.of(QUERIES, 3)
    expected = [np.log(3) - 2 / 3 * np.log(2), np.log(2), 0.0]
    np.testing.assert_allclose(found.entropy, expected, atol=1e-12)
    np.testing.assert_allclose(found.quantile(1.0), [2 / 3, 1 / 2, 1.0])
    np.testing.assert_allclose(found.quantile(0.5), [1 / 3, 1 / 2, 0.0])
    uniform = np.full((3, 3), 1 / 3)
    np.testing.assert_allclose(found.total_variation(uniform), [1 / 3, 1 / 3, 2 / 3])


def test_steps_that_no_episode_reaches_are_not_a_number():
    found = Allocation.of(np.array([[0, STOP]]), 2)
    assert np.isnan(found.policy[1]).all()
    assert np.isnan([found.entropy[1], found.quantile(0.5)[1]]).all()
    assert found.entropy[0] == 0.0


def test_allocations_of_disjoint_episodes_add_up():
    parts = Allocation.of(QUERIES[:1], 3) + Allocation.of(QUERIES[1:], 3)
    np.testing.assert_array_equal(parts.counts, Allocation.of(QUERIES, 3).counts)


def test_the_queries_of_fresh_episodes_are_counted():
    family = GaussianBandit(num_arms=3, horizon=4)
    found = measure_allocation(Rounds(), family, Request(budget=4), episodes=10)
    assert found.counts.tolist() == [[10, 0, 0], [0, 10, 0], [0, 0, 10], [10, 0, 0]]


def test_track_and_stop_is_compared_by_what_was_seen_in_the_environment():
    """Without noise the empirical means are the true ones once all arms are tried."""
    family = DeterministicBandit(num_arms=3, horizon=6)
    means = jnp.array([0.2, 0.9, 0.5])
    found = policy_statistics(Rounds(), family, BUDGET, task=means, trajectories=5)
    first = np.array([[1, 1, 1], [0, 1.5, 1.5], [0, 0, 3]]) / 3
    np.testing.assert_allclose(found.tracked[:3], first)
    weights = np.asarray(optimal_proportions(means))
    np.testing.assert_allclose(found.tracked[3:5], [weights, weights], rtol=1e-5)
    assert np.isnan(found.tracked[5]).all()
    expected = [2 / 3, 1 / 2, 0, 1 - weights[0], 1 - weights[1]]
    np.testing.assert_allclose(found.total_variation[:5], expected, rtol=1e-5)


def test_the_papers_approximation_is_available():
    means = jnp.array([0.1, 1.0, 0.6])
    expected = np.array([1 / 0.9, 1 / 0.4, 1 / 0.4])
    expected /= expected.sum()
    np.testing.assert_allclose(inverse_gap_proportions(means), expected, rtol=1e-6)
    found = policy_statistics(
        Rounds(),
        DeterministicBandit(num_arms=3, horizon=6),
        BUDGET,
        task=means,
        trajectories=5,
        proportions=inverse_gap_proportions,
    )
    np.testing.assert_allclose(found.tracked[3], expected, rtol=1e-5)


def test_an_environment_is_drawn_if_none_is_given():
    family = GaussianBandit(num_arms=3, horizon=6)
    found = policy_statistics(Rounds(), family, BUDGET, trajectories=5)
    assert found.allocation.running.tolist() == [5, 5, 5, 5, 5, 0]
    assert ((found.total_variation[:5] >= 0) & (found.total_variation[:5] <= 1)).all()


def test_a_bandit_that_reveals_all_its_arms_has_the_same_statistics():
    means = jnp.array([0.2, 0.9, 0.5])
    plain, revealing, some = (
        DeterministicBandit(num_arms=3, horizon=6, **options)
        for options in ({}, {"vary_arms": True, "fewest_arms": 3}, {"vary_arms": True})
    )
    one, two = (
        policy_statistics(Rounds(), family, BUDGET, task=means, trajectories=5)
        for family in (plain, revealing)
    )
    np.testing.assert_array_equal(one.tracked, two.tracked)
    with pytest.raises(UnsupportedError, match="got 2 numbers, 3 queries and 3 hypo"):
        policy_statistics(Rounds(), some, BUDGET, task=means)


def test_only_bandits_have_something_to_track():
    with pytest.raises(UnsupportedError, match="got 2 numbers, 3 queries and 4 hypo"):
        policy_statistics(Rounds(), TwoBits(), BUDGET)
