import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import UnsupportedError
from icpe.core.likelihood import belief_for
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.families import (
    BernoulliBandit,
    BinarySearch,
    DeterministicBandit,
    FeedbackGraph,
    GaussianBandit,
    MagicAction,
    MagicChain,
    NoisyBinarySearch,
    TwoPullBandit,
)
from icpe.play.rollout import run_episodes
from support.toy_tasks import TwoDoors

FAMILIES = [
    (GaussianBandit(num_arms=4, horizon=8), 6),
    (GaussianBandit(num_arms=5, horizon=8, vary_arms=True), 6),
    (DeterministicBandit(num_arms=5), 3),
    (DeterministicBandit(num_arms=5, vary_arms=True), 3),
    (BinarySearch(size=12), 2),
    (NoisyBinarySearch(size=6, noise=0.2), 5),
    (BernoulliBandit(num_arms=3, horizon=8, batch_size=3, min_gap=0.2), 4),
    (MagicAction(num_arms=4, horizon=8, magic_noise=0.4), 5),
    (MagicAction(num_arms=4, horizon=8, vary_noise=True), 5),
    (MagicChain(num_arms=6, num_magic=3), 3),
    (MagicChain(num_arms=6, vary_magic=True), 3),
    (TwoPullBandit(num_arms=4, horizon=8, noise=0.5), 4),
    (FeedbackGraph(num_arms=4, horizon=8), 6),
    (FeedbackGraph(num_arms=4, horizon=8, prior="one-best"), 3),
]


@ft.cache
def endings(family, budget):
    """Many episodes of random queries, with the exact posterior at their end."""
    point = OperatingPoint.at(family.spec.horizon, budget=budget)
    explorer = make_explorer("uniform", family)
    ending = run_episodes(
        explorer, family, point, 4096, key=jr.key(0), keep_posterior=True
    )
    assert ending.log_posterior is not None
    return np.exp(np.asarray(ending.log_posterior)), ending


@pytest.mark.slow
@pytest.mark.parametrize(("family", "budget"), FAMILIES)
def test_posterior_is_as_often_right_as_it_says(family, budget):
    posterior, ending = endings(family, budget)
    np.testing.assert_allclose(posterior.sum(1), 1.0, rtol=1e-4)
    # For a bounded function f of the posterior, f * (correct - claimed) has mean 0;
    # five standard errors and three functions: false alarm below 2e-6 each family.
    claimed = posterior.max(1)
    for weight in (np.ones_like(claimed), claimed, posterior[:, 0]):
        surplus = weight * (ending.correct - claimed)
        assert abs(surplus.mean()) <= 5 * surplus.std() / np.sqrt(len(surplus))


@pytest.mark.slow
@pytest.mark.parametrize(("family", "budget"), FAMILIES)
def test_every_hypothesis_is_claimed_as_often_as_it_is_true(family, budget):
    posterior, ending = endings(family, budget)
    truth = np.eye(family.spec.num_hypotheses)[ending.hypothesis]
    surplus = truth - posterior
    # A martingale difference in each entry: false alarm below 6e-7 an entry.
    error = surplus.std(0) / np.sqrt(len(surplus))
    assert (abs(surplus.mean(0)) <= 5 * error).all()


def test_updates_of_a_bandit_count_the_pulls_and_add_the_rewards():
    belief = belief_for(GaussianBandit(num_arms=3))
    state = belief.init(jnp.zeros(1))
    for arm, reward in ((2, 1.0), (0, -0.5), (2, 0.25)):
        state = belief.update(state, jnp.asarray(arm), jnp.asarray([reward]))
    assert state.rewards.counts.tolist() == [1, 0, 2]
    assert state.rewards.sums.tolist() == [-0.5, 0, 1.25]


@pytest.mark.slow
def test_the_beta_prior_reaches_the_belief():
    family = BernoulliBandit(num_arms=2, prior_successes=2.0, prior_failures=1.0)
    belief = belief_for(family)
    state = belief.update(belief.init(jnp.zeros(1)), jnp.asarray(0), jnp.ones(1))
    # Beta(3, 1) exceeds Beta(2, 1) with probability 3/5: E[x^2] for density 3 x^2.
    np.testing.assert_allclose(np.exp(belief.log_posterior(state)), [0.6, 0.4], 1e-5)


def test_revealed_means_replace_one_another():
    belief = belief_for(DeterministicBandit(num_arms=2))
    state = belief.init(jnp.zeros(1))
    for reward in (0.5, 0.5):
        state = belief.update(state, jnp.asarray(1), jnp.asarray([reward]))
    np.testing.assert_allclose(np.exp(belief.log_posterior(state)), 0.5, rtol=1e-6)


def test_means_of_arms_that_are_not_there_are_not_waited_for():
    belief = belief_for(DeterministicBandit(num_arms=4, vary_arms=True))
    state = belief.init(jnp.asarray([0.0, 2.0]))
    np.testing.assert_allclose(
        np.exp(belief.log_posterior(state)), [0.5, 0.5, 0, 0], rtol=1e-6
    )
    for arm, reward in ((0, 0.1), (1, 0.3)):
        state = belief.update(state, jnp.asarray(arm), jnp.asarray([reward, 0.0]))
    assert np.exp(belief.log_posterior(state)).tolist() == [0, 1, 0, 0]


def test_a_family_without_belief_is_refused_by_name():
    family = TwoDoors()
    with pytest.raises(UnsupportedError, match="'TwoDoors' has no exact belief"):
        belief_for(family)


def test_beliefs_run_batched():
    belief = belief_for(BinarySearch(size=4))
    state = jax.vmap(belief.init)(jnp.zeros((2, 1)))
    state = jax.vmap(belief.update)(
        state, jnp.asarray([1, 1]), jnp.asarray([[1.0], [0.0]])
    )
    np.testing.assert_allclose(
        np.exp(jax.vmap(belief.log_posterior)(state)),
        [[0, 0, 0.5, 0.5], [0, 1, 0, 0]],
    )
