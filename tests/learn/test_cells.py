"""Tables of one number: its moments, and ranges of it that stand for its density."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from icpe.core.simulate import FirstAnswers
from icpe.core.spec import TaskSpec
from icpe.learn.answers import Answers
from icpe.learn.tables import fit_classes
from icpe.learn.tally import NUM_CELLS
from icpe.nets.outcome_tables import GaussianTable

MEANS = np.array([[0.0, 0.0, 1.0], [0.0, 0.5, 1.0]])
"""Of the outcome, for each of two queries in each of three classes."""
EACH = 2000


def fitted(outcomes, hypothesis, num_hypotheses):
    """Tables from outcomes that are tasks x repeats x queries."""
    tasks, _, queries = outcomes.shape
    found = FirstAnswers(
        jnp.asarray(hypothesis),
        jnp.zeros((tasks, 1)),
        jnp.ones((tasks, queries), bool),
        jnp.asarray(outcomes, jnp.float32)[..., None],
    )
    spec = TaskSpec(queries, num_hypotheses, 1, horizon=3)
    answers = Answers.of(spec, found, None)
    return fit_classes(answers, answers.hypothesis, num_each=1)


def counted(noise):
    """From outcomes that have exactly these means, and Gaussian noise."""
    normal = scipy.stats.norm.ppf((np.arange(EACH) + 0.5) / EACH)
    normal = normal / normal.std()
    hypothesis = np.repeat(np.arange(3), EACH)
    outcomes = MEANS.T[hypothesis] + noise * np.tile(normal, 3)[:, None]
    return fitted(outcomes[:, None], hypothesis, 3)


def information(query, noise):
    """Of one outcome about three equally probable classes, by plain quadrature."""
    grid = np.linspace(-10 * noise, 1 + 10 * noise, 20_001)
    step = grid[1] - grid[0]
    scale = noise * np.sqrt(2 * np.pi)
    densities = np.exp(-((grid - MEANS[query][:, None]) ** 2) / (2 * noise**2)) / scale
    mixed = densities.mean(axis=0) + 1e-300
    entropy = -np.sum(mixed * np.log(mixed)) * step
    return entropy - 0.5 * np.log(2 * np.pi * np.e * noise**2)


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
def test_cells_tell_almost_as_much_as_the_number_itself_and_never_more(noise):
    told = np.asarray(counted(noise).information(jnp.full(3, 1 / 3)))
    exact = np.array([information(query, noise) for query in (0, 1)])
    assert np.all(told < exact * 1.001)
    assert np.all(told > 0.97 * exact)


def test_cells_are_a_distribution_for_every_class():
    cells = np.asarray(counted(0.5).outcomes.cells)
    assert cells.shape == (2, NUM_CELLS, 3)
    np.testing.assert_allclose(cells.sum(axis=1), 1.0, atol=1e-5)
    assert (cells >= 0).all()


def test_means_and_variances_are_those_of_the_outcomes():
    """But for half a pseudo-observation of the outcome whatever the class."""
    tables = counted(0.5).outcomes
    assert isinstance(tables, GaussianTable)
    np.testing.assert_allclose(tables.mean[:, 0], MEANS, atol=1.0 * 0.5 / EACH)
    np.testing.assert_allclose(tables.variance, 0.25, atol=1.5 * 0.5 / EACH)


def test_a_number_without_noise_varies_a_little_all_the_same():
    """So that an outcome slightly off, as by rounding, is not impossible."""
    values = np.linspace(-1.0, 1.0, 80)
    outcomes = np.tile(values[:, None, None], (1, 8000, 1))
    tables = fitted(outcomes, np.arange(80), 80)
    assert isinstance(tables.outcomes, GaussianTable)
    floor = 1e-4 * values.var()
    np.testing.assert_allclose(tables.outcomes.variance, floor, rtol=1e-3)
    state = tables.update(tables.log_prior, jnp.asarray(0), jnp.asarray([0.999]))
    assert np.asarray(tables.log_posterior(state)).argmax() == 79
