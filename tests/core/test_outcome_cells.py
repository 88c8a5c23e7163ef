"""Cells of outcomes that are neither few nor one number of a usual law."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.scipy.stats import cauchy, norm

from icpe.core.family import (
    AbstractTaskFamily,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.likelihood import likelihood_belief
from icpe.core.outcome_cells import table_of_cells
from icpe.core.spec import TaskSpec


class Twelve(AbstractTaskFamily):
    """Twelve instruments that are all the same, each giving two numbers."""

    @property
    def spec(self):
        return TaskSpec(12, 2, outcome_size=2, horizon=10)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, 2)

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        return plain_step(self.spec, jnp.float32(task) + jr.normal(key, (2,)))

    def hypothesis(self, task):
        return task

    def log_likelihood(self, hypothesis, query, outcome):
        return jnp.sum(norm.logpdf(outcome - jnp.float32(hypothesis)))


class Tails(Twelve):
    """Five places, one of which a reading is about; its noise has heavy tails."""

    never: bool = parameter(False, "whether the last place is never the one")

    @property
    def spec(self):
        return TaskSpec(5, 5, outcome_size=1, horizon=10)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, 4 if self.never else 5)

    def step(self, state, query, task, *, key):
        return plain_step(self.spec, (self.signal(task, query) + jr.cauchy(key))[None])

    def signal(self, place, query):
        return jnp.where(place == query, 3.0, 0.0)

    def log_prior(self):
        chances = jnp.ones(5).at[4].set(1e-9 if self.never else 1.0)
        return jnp.log(chances / jnp.sum(chances))

    def log_likelihood(self, hypothesis, query, outcome):
        return cauchy.logpdf(outcome[0] - self.signal(hypothesis, query))


def by_quadrature(mean_densities, weights, grid):
    """Mutual information of a number with such densities, hypotheses x grid."""
    mixed = weights @ mean_densities
    ratio = np.log(mean_densities / mixed)
    return np.trapezoid(weights @ (mean_densities * ratio), grid)


@pytest.mark.parametrize("sure", [0.5, 0.9, 0.99])
def test_queries_that_are_alike_look_alike_also_where_little_is_left_to_learn(sure):
    """Two numbers of unit noise tell what their mean tells, of noise 1 / sqrt(2).

    The tasks are drawn with a fixed seed, so nothing here is left to chance.
    """
    belief = likelihood_belief(Twelve())
    gains = np.asarray(belief.information_gains(jnp.log(jnp.array([sure, 1 - sure]))))
    grid = np.linspace(-8, 9, 4001)
    scale = np.sqrt(0.5)
    densities = np.stack([np.asarray(norm.pdf(grid, mean, scale)) for mean in (0, 1)])
    exact = by_quadrature(densities, np.array([sure, 1 - sure]), grid)
    np.testing.assert_allclose(gains, exact, rtol=0.12)


def test_heavy_tails_are_resolved():
    belief = likelihood_belief(Tails())
    weights = np.array([0.9, 0.04, 0.03, 0.02, 0.01])
    gains = np.asarray(belief.information_gains(jnp.log(jnp.asarray(weights))))
    grid = np.sinh(np.linspace(-12, 12, 20_001))
    for query in range(5):
        means = np.where(np.arange(5) == query, 3.0, 0.0)
        densities = np.stack([np.asarray(cauchy.pdf(grid - mean)) for mean in means])
        exact = by_quadrature(densities, weights, grid)
        assert gains[query] == pytest.approx(exact, rel=0.1)


def test_fewer_cells_tell_nearly_as_much():
    weights = jnp.array([0.9, 0.04, 0.03, 0.02, 0.01])
    table = table_of_cells(Tails(), 128)
    half = table.coarser()
    assert half is not None
    assert np.all(half.gains(weights) <= table.gains(weights) + 1e-6)
    np.testing.assert_allclose(half.gains(weights), table.gains(weights), rtol=0.05)


def test_a_hypothesis_that_is_never_drawn_gets_a_law_too():
    table = table_of_cells(Tails(never=True), 32).probability
    np.testing.assert_allclose(jnp.sum(table, axis=2), 1.0, atol=1e-5)
    assert np.all(np.isfinite(jax.device_get(table)))
