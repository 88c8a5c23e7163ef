import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import TwoPullBandit
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

FAMILY = TwoPullBandit(num_arms=4)


def means():
    return jnp.asarray([0.0, 0.2, 0.9, 0.6])


@pytest.mark.slow
def test_the_two_pull_bandit_conforms():
    check_family(FAMILY)


def test_the_second_pull_of_arm_0_names_the_best_arm_whatever_came_between():
    state = FAMILY.reset(means(), key=jr.key(0)).state
    outcomes = []
    for t, query in enumerate([1, 0, 2, 3, 0, 1, 0]):
        result = FAMILY.step(state, jnp.asarray(query), means(), key=jr.key(t))
        state = result.state
        outcomes.append(float(result.outcome[0]))
    pointer = 3 / 4  # The best is the third arm of four.
    assert outcomes[4] == outcomes[6] == pointer
    assert outcomes[1] != pointer
    assert int(FAMILY.hypothesis(means())) == 2


def test_the_first_pull_of_arm_0_is_noise_and_nothing_else(draw_outcomes):
    state = jnp.zeros((), jnp.int32)
    rewards = draw_outcomes(FAMILY, means(), 0, 2000, state=state)[:, 0]
    assert scipy.stats.kstest(rewards, "norm").pvalue > ALARM


def test_other_arms_keep_their_law_after_the_second_pull(draw_outcomes):
    state = jnp.asarray(2, jnp.int32)
    rewards = draw_outcomes(FAMILY, means(), 3, 2000, state=state)[:, 0]
    assert scipy.stats.kstest(rewards - 0.6, "norm").pvalue > ALARM


def test_arm_0_is_worthless_and_the_others_are_uniform(draw_tasks):
    tasks = draw_tasks(FAMILY, 1000)
    assert (tasks[:, 0] == 0.0).all()
    assert scipy.stats.kstest(tasks[:, 1:].ravel(), "uniform").pvalue > ALARM
    assert np.argmax(tasks, axis=1).min() > 0


@pytest.mark.parametrize("bad", [{"num_arms": 2}, {"noise": 0.0}, {"horizon": 0}])
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        TwoPullBandit(**bad)
