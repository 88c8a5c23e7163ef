import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import MagicAction
from icpe.families.magic_action import MagicTask
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""


@pytest.mark.parametrize("vary_noise", [False, True])
def test_the_magic_action_conforms(vary_noise):
    check_family(MagicAction(num_arms=4, vary_noise=vary_noise))


def test_the_magic_mean_points_to_the_best_of_the_uniform_others(draw_tasks):
    tasks = draw_tasks(MagicAction(num_arms=4), 1500)
    best = 1 + np.argmax(tasks.means[:, 1:], axis=1)
    np.testing.assert_allclose(tasks.means[:, 0], (best + 1) / 4)
    assert tasks.means[:, 0].max() <= 1.0 < tasks.means[:, 1:].min()
    regular = (tasks.means[:, 1:].ravel() - 1) / 4
    assert scipy.stats.kstest(regular, "uniform").pvalue > ALARM
    np.testing.assert_allclose(tasks.magic_noise, 0.1, rtol=1e-6)


def test_the_answer_is_the_best_regular_arm():
    task = MagicTask(jnp.asarray([1.0, 2.0, 4.0, 3.0]), jnp.asarray(0.1))
    assert int(MagicAction(num_arms=4).hypothesis(task)) == 2


@pytest.mark.parametrize(("arm", "mean", "noise"), [(0, 0.75, 0.2), (2, 4.0, 0.8)])
def test_the_noises_of_magic_and_other_arms_add_to_one(draw_outcomes, arm, mean, noise):
    task = MagicTask(jnp.asarray([0.75, 2.0, 4.0, 3.0]), jnp.asarray(0.2))
    rewards = draw_outcomes(MagicAction(num_arms=4), task, arm, 2000)[:, 0]
    assert scipy.stats.kstest((rewards - mean) / noise, "norm").pvalue > ALARM


def test_the_noise_of_a_task_is_drawn_from_its_range_and_revealed(draw_tasks):
    family = MagicAction(num_arms=4, vary_noise=True, lowest_noise=0.2)
    noises = draw_tasks(family, 1500).magic_noise
    assert scipy.stats.kstest((noises - 0.2) / 0.8, "uniform").pvalue > ALARM
    task = MagicTask(jnp.asarray([0.75, 2.0, 4.0, 3.0]), jnp.asarray(0.3))
    first = family.reset(task, key=jr.key(0))
    np.testing.assert_allclose(first.outcome, [0.0, 0.3], rtol=1e-6)
    then = family.step(None, jnp.asarray(1), task, key=jr.key(0))
    assert then.outcome.shape == (2,) and then.outcome[1] == 0.0


def test_one_noise_level_can_be_evaluated_with_the_spec_of_all():
    every = MagicAction(vary_noise=True)
    one = MagicAction(vary_noise=True, lowest_noise=0.3, highest_noise=0.3)
    assert one.spec == every.spec
    assert float(one.sample_task(key=jr.key(0)).magic_noise) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "bad",
    [
        {"num_arms": 2},
        {"magic_noise": 1.1},
        {"magic_noise": -0.1},
        {"horizon": 0},
        {"lowest_noise": 0.5, "highest_noise": 0.4},
        {"highest_noise": 1.5},
    ],
)
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        MagicAction(**bad)
