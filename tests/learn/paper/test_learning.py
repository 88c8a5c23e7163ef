"""The paper's learner on families whose optimum is known; whole trainings.

With 4096 episodes an accuracy of 0.98 has a standard error of 0.0022 and the mean
number of queries of binary search one of 0.012, so that margins of 0.01 and 0.1 below
what the trainings reach fail them by chance with probability below 1e-5.
"""

import dataclasses

import jax
import jax.random as jr
import numpy as np
import pytest

from icpe.explorers.neural.paper import PaperExplorer, PaperNets
from icpe.families import BinarySearch, DeterministicBandit
from icpe.learn.fit import FitOptions, fit
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.presets import paper_preset
from icpe.play.rollout import rollout_chunks, run_episodes
from support.toy_tasks import Corridor, Hint, Lockers, TwoDoors

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("optax_dtypes")]
EPISODES = 4096
SMALL = PaperConfig(
    error_prob=0.05,
    num_iterations=300,
    batch_size=64,
    minibatch_size=64,
    updates_per_iteration=4,
    replay_size=1024,
    learning_rate=3e-3,
    inference_period=20,
    query_period=20,
    initial_cost=0.1,
    min_cost=0.05,
    width=16,
    num_layers=1,
    num_heads=1,
)


def trained(family, config):
    """The explorer, and the operating point it is for."""
    nets = fit(family, config).nets
    assert isinstance(nets, PaperNets)
    point = config.objective.operating_point(family.spec.horizon)
    return PaperExplorer(nets.for_play()), point


def played(family, config):
    explorer, point = trained(family, config)
    return run_episodes(explorer, family, point, EPISODES, key=jr.key(1))


def test_binary_search_is_learned_on_a_cpu():
    family = BinarySearch(size=8)
    ending = played(family, paper_preset("cpu", family))
    assert np.mean(ending.correct) >= 0.99
    assert np.mean(ending.num_queries) <= 2.3


def test_the_deterministic_bandit_is_learned_on_a_cpu():
    family = DeterministicBandit(num_arms=8)
    ending = played(family, paper_preset("cpu", family))
    assert np.mean(ending.correct) >= 0.97
    assert np.all(ending.num_queries == 8)


@pytest.mark.parametrize("reward", ["max", "truth", "log-truth"])
def test_it_peeks_once_with_every_form_of_reward(reward):
    ending = played(TwoDoors(horizon=3), dataclasses.replace(SMALL, reward=reward))
    assert np.mean(ending.correct) > 0.99
    assert np.mean(ending.num_queries) < 1.05


@pytest.mark.parametrize("changes", [{"budget": 2}, {"budget": 2, "dropout": 0.1}])
def test_a_budget_is_used_for_different_lockers(changes):
    family = Lockers()
    ending = played(family, dataclasses.replace(SMALL, **changes))
    best = family.optimal_value(price=0.0, max_queries=2)
    assert np.mean(ending.correct) > best - 0.03


def test_masked_queries_and_hints_at_reset_are_learned():
    ending = played(Hint(), SMALL)
    assert np.mean(ending.correct) > 0.94


def test_where_stopping_is_disabled_only_the_family_ends_an_episode():
    family = Corridor()
    ending = played(family, SMALL)
    price = 0.05
    value = np.mean(ending.correct) - price * np.mean(ending.cost)
    assert value > family.optimal_value(price=price) - 0.05


def test_plain_dqn_pulls_good_arms_rather_than_all():
    family = DeterministicBandit(num_arms=4, horizon=6)
    config = dataclasses.replace(SMALL, budget=6, reward="environment")
    explorer, point = trained(family, config)
    (chunk,) = rollout_chunks(
        explorer, family, point, EPISODES, key=jr.key(1), chunk_size=EPISODES
    )
    rewards = chunk.history.outcomes[:, 1:, 0].mean()
    assert rewards > 0.6, "random arms give 0.5"


def weights(nets):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(nets)]


@pytest.mark.parametrize("light", [False, True])
def test_a_checkpoint_resumes(tmp_path, light):
    family = TwoDoors(horizon=3)
    config = dataclasses.replace(
        SMALL, num_iterations=6, log_every=2, minibatch_size=8, batch_size=8
    )
    path = tmp_path / "checkpoint"
    options = FitOptions(checkpoint=path, time_limit=1e-3, light_checkpoint=light)
    stopped = fit(family, config, options)
    assert (stopped.iterations, stopped.stopped) == (2, "time limit")
    resumed = fit(family, config, FitOptions(checkpoint=path, resume=True))
    assert resumed.iterations == 6
    if not light:
        whole = fit(family, config)
        pairs = zip(weights(whole.nets), weights(resumed.nets), strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs)
