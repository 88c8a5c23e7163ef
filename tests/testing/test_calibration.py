"""A likelihood that is not the simulator's is refused, and a right one is not."""

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from icpe.core.conformance import calibration
from icpe.core.errors import ConformanceError
from icpe.core.family import AbstractTaskFamily, parameter, plain_reset, plain_step
from icpe.core.likelihood import bare_belief
from icpe.core.spec import TaskSpec
from icpe.testing import check_family


class Ring(AbstractTaskFamily):
    """A noisy distance on a ring, of which some are nonsense."""

    outliers: float = parameter(0.1, "share of nonsense in step")
    supposed: float = parameter(0.1, "the same in log_likelihood")

    @property
    def spec(self):
        return TaskSpec(8, 8, 1, 16)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, 8)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        wild, spread, where = jr.split(key, 3)
        told = _distance(task, query) + jr.normal(spread)
        nonsense = jr.uniform(where, maxval=4.0)
        outcome = jnp.where(jr.bernoulli(wild, self.outliers), nonsense, told)
        return plain_step(self.spec, outcome[None])

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        error = outcome[0] - _distance(hypothesis, query)
        good = jnp.exp(-0.5 * error**2) / jnp.sqrt(2.0 * jnp.pi)
        inside = (outcome[0] >= 0) & (outcome[0] <= 4.0)
        wild = jnp.where(inside, 0.25, 0.0)
        return jnp.log((1.0 - self.supposed) * good + self.supposed * wild + 1e-30)


class Coins(AbstractTaskFamily):
    """One of three coins is biased."""

    supposed: float = parameter(0.9, "the bias in log_likelihood")

    @property
    def spec(self):
        return TaskSpec(3, 3, 1, 8)

    def sample_task(self, *, key) -> Any:
        return jr.randint(key, (), 0, 3)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        heads = jr.bernoulli(key, jnp.where(query == task, 0.9, 0.5))
        return plain_step(self.spec, heads.astype(jnp.float32)[None])

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        heads = jnp.where(query == hypothesis, self.supposed, 0.5)
        return jnp.log(jnp.where(outcome[0] > 0.5, heads, 1.0 - heads))


class Unnormalized(Coins):
    """The same up to a factor that all hypotheses share, as with a dropped constant."""

    def log_likelihood(self, hypothesis, query, outcome):
        shared = jnp.where(query == 1, 0.5, 0.0)
        return super().log_likelihood(hypothesis, query, outcome) - shared


class ForVectors(Coins):
    def log_likelihood(self, hypothesis, query, outcome):
        heads = jnp.where(query == hypothesis, 0.9, 0.5)
        return jnp.log(jnp.where(outcome > 0.5, heads, 1.0 - heads))


class NoLogarithm(Coins):
    def log_likelihood(self, hypothesis, query, outcome):
        return jnp.exp(super().log_likelihood(hypothesis, query, outcome))


class FromMemory(Coins):
    """Outcomes that are remembered: they depend on more than the hypothesis."""

    def sample_task(self, *, key):
        coin, sides = jr.split(key)
        return jr.randint(coin, (), 0, 3), jr.bernoulli(sides, 0.5, (3,))

    def hypothesis(self, task):
        return task[0]

    def step(self, state, query, task, *, key):
        heads = jr.bernoulli(key, 0.9) & (query == task[0]) | task[1][query]
        return plain_step(self.spec, heads.astype(jnp.float32)[None])

    def log_likelihood(self, hypothesis, query, outcome):
        heads = jnp.where(query == hypothesis, 0.95, 0.5)
        return jnp.log(jnp.where(outcome[0] > 0.5, heads, 1.0 - heads))


@pytest.mark.parametrize(
    "family", [Ring(), Coins(), Ring(outliers=0.0, supposed=0.0)], ids=str
)
def test_a_right_likelihood_passes(family):
    check_family(family)


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        (Ring(supposed=0.0), "the posterior by log_likelihood is not that of the sim"),
        (Coins(supposed=0.85), "and log_likelihood gives it probability 0."),
        (FromMemory(), "must depend on the hypothesis, the query and the outcomes"),
        (ForVectors(), "log_likelihood returns float32[1]; return one float"),
        (NoLogarithm(), "which is no logarithm of a probability"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_wrong_likelihood_is_refused(family, sentence):
    with pytest.raises(ConformanceError) as caught:
        check_family(family)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_factor_that_all_hypotheses_share_is_no_matter_for_the_posterior():
    family = Unnormalized()
    calibration.check_belief(family, bare_belief(family), "log_likelihood")


def test_every_bet_is_fair_under_the_posterior():
    """Bets that learn nothing have mean 1 for each history, by enumeration."""
    logs = log_softmax(np.random.default_rng(0).normal(size=(1, 5)) * 2.0, axis=1)
    every = [calibration._log_bets(logs, np.array([h])) for h in range(5)]
    means = np.exp(logs[0]) @ np.exp(np.array(every))
    np.testing.assert_allclose(means, 1.0, rtol=1e-12)


def test_learned_bets_are_fair_too():
    """Given what was learned on the first half, by enumeration of the second."""
    logs = log_softmax(np.random.default_rng(1).normal(size=(4, 3)), axis=1)
    learned = slice(-len(calibration._STRENGTHS), None)
    total = 0.0
    for third, fourth in np.ndindex(3, 3):
        truths = np.array([0, 2, third, fourth])
        chance = np.exp(logs[2, third] + logs[3, fourth])
        total += chance * np.exp(calibration._log_bets(logs, truths)[learned])
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_posteriors_that_are_true_are_hardly_ever_refused():
    """Wealth of 400 checks of a true law; its mean is 1, so that 100 comes rarely.

    By Markov's inequality a check reaches 100 with probability at most 0.01, and more
    than 20 of 400 do with probability below 1e-7.
    """
    generator = np.random.default_rng(2)
    high = 0
    for _ in range(400):
        logs = log_softmax(generator.normal(size=(256, 4)) * 2.0, axis=1)
        draws = generator.random((256, 1))
        truths = (draws > np.cumsum(np.exp(logs), axis=1)[:, :-1]).sum(axis=1)
        bets = calibration._log_bets(logs, truths)
        high += logsumexp(bets) - np.log(len(bets)) > np.log(100.0)
    assert high <= 20


def _distance(cell, query):
    gap = jnp.abs(cell - query)
    return jnp.minimum(jnp.minimum(gap, 8 - gap), 4).astype(jnp.float32)
