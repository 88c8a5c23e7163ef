import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.exceptions import UnsupportedError
from icpe.explorers import belief as beliefs
from icpe.explorers.belief import belief_for, families_with_belief, register_belief
from icpe.explorers.registry import make_explorer
from icpe.rollout import run_episodes
from icpe.tasks import BinarySearch, DeterministicBandit, GaussianBandit
from icpe.testing.toy_tasks import TwoDoors
from icpe.types import OperatingPoint

FAMILIES = [
    (GaussianBandit(num_arms=4, horizon=8), 6),
    (DeterministicBandit(num_arms=5), 3),
    (BinarySearch(size=12), 2),
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


@pytest.mark.parametrize(("family", "budget"), FAMILIES)
def test_posterior_is_as_often_right_as_it_says(family, budget):
    posterior, ending = endings(family, budget)
    np.testing.assert_allclose(posterior.sum(1), 1.0, rtol=1e-4)
    # For a bounded function f of the posterior, f * (correct - claimed) has mean 0;
    # five standard errors and three functions: false alarm below 2e-6 each family.
    claimed = posterior.max(1)
    for weight in (np.ones_like(claimed), claimed, posterior[:, 0]):
        surplus = weight * (ending.correct - claimed)
        assert abs(surplus.mean()) < 5 * surplus.std() / np.sqrt(len(surplus))


@pytest.mark.parametrize(("family", "budget"), FAMILIES)
def test_every_hypothesis_is_claimed_as_often_as_it_is_true(family, budget):
    posterior, ending = endings(family, budget)
    truth = np.eye(family.spec.num_hypotheses)[ending.hypothesis]
    surplus = truth - posterior
    # A martingale difference in each entry: false alarm below 6e-7 an entry.
    error = surplus.std(0) / np.sqrt(len(surplus))
    assert (abs(surplus.mean(0)) < 5 * error).all()


def test_updates_of_a_bandit_count_the_pulls_and_add_the_rewards():
    belief = belief_for(GaussianBandit(num_arms=3))
    state = belief.init(jnp.zeros(1))
    for arm, reward in ((2, 1.0), (0, -0.5), (2, 0.25)):
        state = belief.update(state, jnp.asarray(arm), jnp.asarray([reward]))
    assert state.counts.tolist() == [1, 0, 2]
    assert state.sums.tolist() == [-0.5, 0, 1.25]


def test_revealed_means_replace_one_another():
    belief = belief_for(DeterministicBandit(num_arms=2))
    state = belief.init(jnp.zeros(1))
    for reward in (0.5, 0.5):
        state = belief.update(state, jnp.asarray(1), jnp.asarray([reward]))
    np.testing.assert_allclose(np.exp(belief.log_posterior(state)), 0.5, rtol=1e-6)


def test_parameters_of_the_family_reach_its_belief():
    family = GaussianBandit(num_arms=2, min_gap=0.1, noise=0.3, horizon=7)
    assert belief_for(family) == beliefs.GaussianGapBelief(
        num_arms=2, min_gap=0.1, noise=0.3, mean_range=0.8, max_pulls=7
    )


def test_a_family_without_belief_is_refused_by_name():
    family = TwoDoors()
    with pytest.raises(UnsupportedError, match=r"binary-search, deterministic-bandit"):
        belief_for(family)


def test_a_registered_belief_is_found(monkeypatch):
    monkeypatch.setattr(beliefs, "_FACTORIES", dict(beliefs._FACTORIES))
    family = TwoDoors()
    register_belief(type(family), lambda family: beliefs.VersionSpaceBelief(3))
    assert belief_for(family) == beliefs.VersionSpaceBelief(3)
    assert type(family) in families_with_belief()


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
