"""Episodes split by truth and by difficulty, against hand-made endings."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.request import OperatingPoint
from icpe.evaluate.groups import by_difficulty, by_hypothesis, hardness
from icpe.explorers import make_explorer
from icpe.families import BinarySearch, DeterministicBandit, GaussianBandit
from icpe.play.rollout import Ending, episode_tasks, run_episodes


def ending(queries, recommendation, hypothesis):
    return Ending(
        num_queries=jnp.asarray(queries),
        cost=jnp.asarray(queries, jnp.float32),
        stop_reason=jnp.ones(len(queries), int),
        recommendation=jnp.asarray(recommendation),
        hypothesis=jnp.asarray(hypothesis),
        log_posterior=None,
    )


@pytest.fixture(scope="module")
def example():
    return ending([1, 2, 3, 4], [0, 0, 2, 2], [0, 2, 2, 0])


def test_groups_by_truth_leave_out_what_never_was_true(example):
    zero, two = by_hypothesis(BinarySearch(size=3), example)
    assert (zero.name, zero.episodes, zero.successes) == ("0", 2, 1)
    assert (two.name, two.episodes, two.successes) == ("2", 2, 1)
    assert (zero.mean_queries, two.mean_queries) == (2.5, 2.5)


def test_a_few_values_have_a_group_each(example):
    low, high = by_difficulty(np.array([7.0, 7.0, 7.5, 7.5]), example)
    assert (low.name, low.episodes, low.successes) == ("7", 2, 1)
    assert (high.name, high.mean_queries) == ("7.5", 3.5)


def test_many_values_make_four_groups_of_equal_size_in_their_order():
    values = np.arange(16.0)
    many = ending(np.arange(16), np.zeros(16, int), np.arange(16) // 8)
    groups = by_difficulty(values[::-1], many)
    names = ["0 to 3", "4 to 7", "8 to 11", "12 to 15"]
    assert [group.name for group in groups] == names
    assert [group.episodes for group in groups] == [4] * 4
    assert [group.successes for group in groups] == [0, 0, 4, 4]


def test_arms_that_are_not_there_do_not_count_in_the_gap(key):
    family = DeterministicBandit(num_arms=5, vary_arms=True, most_arms=2)
    measured = hardness(family, ending([1] * 5, [0] * 5, [0] * 5), key=key)
    means = np.asarray(episode_tasks(family, 5, key=key))
    np.testing.assert_array_equal(measured.values, np.abs(means[:, 0] - means[:, 1]))


def test_the_difficulty_of_a_bandit_is_the_gap_of_its_tasks(key):
    family = GaussianBandit(num_arms=3)
    episodes = ending([1] * 5, [0] * 5, [0] * 5)
    measured = hardness(family, episodes, key=key)
    means = np.sort(episode_tasks(family, 5, key=key))
    assert "gap" in measured.name
    np.testing.assert_allclose(measured.values, means[:, 2] - means[:, 1], rtol=1e-6)


def test_the_difficulty_of_other_families_is_the_number_of_queries(example, key):
    measured = hardness(BinarySearch(size=3), example, key=key)
    assert measured.values.tolist() == [1, 2, 3, 4]


def test_the_tasks_of_episodes_are_those_that_a_rollout_draws(key):
    family = BinarySearch(size=3)
    point = OperatingPoint.at(family.spec.horizon, budget=1)
    explorer = make_explorer("exact-binary-search", family)
    played = run_episodes(explorer, family, point, 16, key=key)
    np.testing.assert_array_equal(episode_tasks(family, 16, key=key), played.hypothesis)
