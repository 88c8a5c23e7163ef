"""Tables of numbers that are not Gaussian: outliers, skew, and values that pile up."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.family import AbstractTaskFamily, parameter, plain_reset, plain_step
from icpe.core.spec import TaskSpec
from icpe.learn import survey as module
from icpe.learn.pilot import posteriors
from icpe.learn.random_play import random_histories
from icpe.learn.survey import survey
from icpe.nets.outcome_tables import GaussianTable, RangeTable

SIZE = 6


class Ring(AbstractTaskFamily):
    """A source on a ring, heard at each place with noise of some law."""

    noise: str = parameter("outliers", "law of the noise")
    numbers: int = parameter(1, "heard at once")

    @property
    def spec(self):
        return TaskSpec(SIZE, SIZE, self.numbers, horizon=12)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, SIZE)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        law_key, flag_key = jr.split(key)
        shape = (self.numbers,)
        if self.noise == "outliers":
            wide = jnp.where(jr.bernoulli(flag_key, 0.15, shape), 8.0, 0.4)
            noise = wide * jr.normal(law_key, shape)
        elif self.noise == "gaussian":
            noise = 0.6 * jr.normal(law_key, shape)
        else:  # half of the answers are exactly 0, whatever the loudness
            noise = jr.exponential(law_key, shape)
            silent = jr.bernoulli(flag_key, 0.5, shape)
            outcome = jnp.where(silent, 0.0, noise * loudness(task, query))
            return plain_step(self.spec, outcome)
        return plain_step(self.spec, loudness(task, query) + noise)

    def hypothesis(self, task):
        return task


def loudness(source, place):
    apart = jnp.abs(source - place)
    return 2.0 / (1.0 + jnp.minimum(apart, SIZE - apart).astype(jnp.float32))


def log_density(noise, source, place, value):
    """Of one number, up to what all sources share."""
    mean = loudness(source, place)
    if noise == "gaussian":
        return -0.5 * jnp.square((value - mean) / 0.6)
    if noise == "outliers":
        narrow = jnp.exp(-0.5 * jnp.square((value - mean) / 0.4)) / 0.4
        wide = jnp.exp(-0.5 * jnp.square((value - mean) / 8.0)) / 8.0
        return jnp.log(0.85 * narrow + 0.15 * wide)
    return jnp.where(value == 0.0, 0.0, -value / mean - jnp.log(mean))


def exact_log_posterior(noise, history):
    def one(queries, outcomes):
        def step(query, outcome):
            each = jax.vmap(lambda h: log_density(noise, h, query, outcome).sum())(
                jnp.arange(SIZE)
            )
            return jnp.where(query >= 0, each, 0.0)

        rows = jax.vmap(step)(queries, outcomes[1:])
        return jax.nn.log_softmax(jnp.cumsum(rows, axis=0))

    return jax.vmap(one)(history.queries, history.outcomes)


def loss(log_posterior, hypothesis):
    each = np.take_along_axis(
        np.asarray(log_posterior), np.asarray(hypothesis)[:, None, None], axis=2
    )
    return -each.mean()


@pytest.mark.usefixtures("whole_surveys")
@pytest.mark.parametrize("noise", ["outliers", "piled"])
@pytest.mark.parametrize("numbers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ranges_believe_nearly_what_the_exact_posterior_does(noise, numbers):
    family = Ring(noise, numbers)
    found = survey(family).predictions
    assert found is not None and isinstance(found.outcomes, RangeTable)
    history, hypothesis = random_histories(family, 2048, seed=77)
    counted = np.asarray(posteriors(found, history))[:, 1:]
    exact = exact_log_posterior(noise, history)
    assert loss(counted, hypothesis) < 1.03 * loss(exact, hypothesis)


@pytest.mark.usefixtures("whole_surveys")
def test_gaussian_numbers_keep_their_moments():
    found = survey(Ring("gaussian")).predictions
    assert found is not None and isinstance(found.outcomes, GaussianTable)


@pytest.mark.usefixtures("whole_surveys")
def test_what_a_query_tells_is_that_of_the_law():
    """Mutual information of place and number, by a fine grid."""
    found = survey(Ring("outliers")).predictions
    assert found is not None
    told = np.asarray(found.information(jnp.full(SIZE, 1 / SIZE)))
    grid = jnp.linspace(-60, 60, 24_001)
    step = float(grid[1] - grid[0])
    sources = jnp.arange(SIZE)
    density = jax.vmap(
        lambda h: jnp.exp(log_density("outliers", h, 0, grid)) / np.sqrt(2 * np.pi)
    )(sources)
    mixed = density.mean(axis=0)
    exact = float((density * jnp.log(density / mixed[None])).mean(axis=0).sum() * step)
    np.testing.assert_allclose(told, exact, rtol=0.02)


def test_tables_that_mislead_whoever_acts_on_them_are_left_out(monkeypatch):
    """Sure of 0.99 of the answers, of which less than 0.6 are right."""
    fly = module.fly_pilot

    def misled(*args):
        return dataclasses.replace(fly(*args), at_horizon=0.5, sure_at_horizon=0.99)

    monkeypatch.setattr(module, "_RECENT", {})
    assert survey(Ring("gaussian")).predictions is not None
    monkeypatch.setattr(module, "_RECENT", {})
    monkeypatch.setattr(module, "fly_pilot", misled)
    found = survey(Ring("gaussian"))
    assert (found.predictions, found.trust, found.pilot) == (None, 0.0, None)
