"""Posteriors by tables of predictions, against Bayes' rule written out."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.spec import TaskSpec
from icpe.explorers.neural.predicted import PredictedBelief
from icpe.nets.evidence import PredictionShape
from icpe.nets.outcome_tables import FlaggedTable, GaussianTable
from icpe.nets.predictions import Predictions
from support.prediction_tables import predictions, random_law, symbol_table

CLASSES, QUERIES, SYMBOLS = 6, 4, 3
LAW, PRIOR = random_law(CLASSES, QUERIES, SYMBOLS)
HISTORY = ((2, 1), (0, 2), (2, 1), (2, 0), (3, 2))
"""Query 2 is made three times, and not always answered alike."""


def arrays(history, steps):
    """Queries and outcomes padded to some steps; what pads must not be read."""
    queries, outcomes = np.full(steps, -1), np.full((steps + 1, 1), 77.0)
    outcomes[0] = 0.0
    for t, (query, outcome) in enumerate(history):
        queries[t], outcomes[t + 1] = query, outcome
    return jnp.asarray(queries), jnp.asarray(outcomes, jnp.float32)


def bayes(prior, likelihoods, num_each=1):
    """Posterior of the hypotheses, by the product of likelihoods of their classes."""
    joint = prior * np.prod(likelihoods, axis=0)
    return joint.reshape(-1, num_each).sum(axis=1) / joint.sum()


@pytest.mark.parametrize("num_each", [1, 2, 3])
def test_the_posterior_is_bayes_rule_over_classes_at_every_position(num_each):
    tables = predictions(symbol_table(LAW), PRIOR, QUERIES, num_each=num_each)
    found = tables.log_posterior(tables.along(*arrays(HISTORY, 8)))
    assert found.shape == (9, CLASSES // num_each)
    for t in range(9):
        terms = [LAW[:, query, outcome] for query, outcome in HISTORY[:t]]
        expected = bayes(PRIOR, [np.ones(CLASSES), *terms], num_each)
        np.testing.assert_allclose(np.exp(found[t]), expected, rtol=2e-5)


def test_one_outcome_at_a_time_comes_to_the_same():
    tables = predictions(symbol_table(LAW), PRIOR, QUERIES, num_each=2)
    queries, outcomes = arrays(HISTORY, 5)
    whole = tables.log_posterior(tables.along(queries, outcomes))
    belief = PredictedBelief(tables)
    state = belief.init(outcomes[0])
    np.testing.assert_allclose(belief.log_posterior(state), whole[0], atol=1e-5)
    for t in range(5):
        state = belief.update(state, queries[t], outcomes[t + 1])
        np.testing.assert_allclose(belief.log_posterior(state), whole[t + 1], atol=1e-5)


def test_a_repeated_answer_counts_twice():
    tables = predictions(symbol_table(LAW), PRIOR, QUERIES)
    once, twice = (
        tables.log_posterior(tables.along(*arrays([(1, 2)] * number, 2)))[-1]
        for number in (1, 2)
    )
    odds = np.diff(np.log(PRIOR)), np.diff(once), np.diff(twice)
    np.testing.assert_allclose(odds[2] - odds[1], odds[1] - odds[0], atol=1e-5)


def test_an_outcome_is_taken_for_the_nearest_symbol():
    tables = predictions(symbol_table(LAW), PRIOR, QUERIES)
    near = tables.update(tables.log_prior, jnp.asarray(1), jnp.asarray([1.9]))
    exact = tables.update(tables.log_prior, jnp.asarray(1), jnp.asarray([2.0]))
    np.testing.assert_array_equal(near, exact)


def test_what_is_revealed_at_reset_counts_like_an_answer():
    first = symbol_table(LAW[:, 3:])
    tables = predictions(symbol_table(LAW), PRIOR, QUERIES, first=first)
    found = tables.log_posterior(tables.start(jnp.asarray([2.0])))
    expected = bayes(PRIOR, [LAW[:, 3, 2]])
    np.testing.assert_allclose(np.exp(found), expected, rtol=2e-5)


def test_a_class_without_weight_never_counts():
    prior = PRIOR.copy()
    prior[1::2] = np.exp(-60.0)
    tables = predictions(symbol_table(LAW), prior, QUERIES, num_each=2)
    found = tables.log_posterior(tables.along(*arrays(HISTORY, 5)))[-1]
    expected = bayes(PRIOR[::2], [LAW[::2, q, o] for q, o in HISTORY])
    np.testing.assert_allclose(np.exp(found), expected, rtol=2e-5)


def test_gaussian_outcomes_have_independent_numbers():
    mean, deviation = np.asarray(jr.normal(jr.key(0), (2, QUERIES, 2, CLASSES)))
    deviation = 0.5 + np.abs(deviation)
    table = GaussianTable(jnp.asarray(mean), jnp.asarray(deviation**2), None)
    tables = predictions(table, PRIOR, QUERIES, outcome_size=2)
    queries = np.array([1, 1, 3])
    outcomes = np.array([[0, 0], [0.3, -1.0], [0.5, 0.1], [2.0, -0.4]], np.float32)
    found = tables.log_posterior(
        tables.along(jnp.asarray(queries), jnp.asarray(outcomes))
    )[-1]
    terms = [
        scipy.stats.norm.pdf(outcome[:, None], mean[query], deviation[query]).prod(0)
        for query, outcome in zip(queries, outcomes[1:], strict=True)
    ]
    np.testing.assert_allclose(np.exp(found), bayes(PRIOR, terms), rtol=1e-4)


def test_of_flagged_outcomes_only_what_is_revealed_counts():
    mean = np.asarray(jr.normal(jr.key(1), (3, CLASSES)))
    variance = np.full((3, CLASSES), 0.25, np.float32)
    revealed = jnp.ones((QUERIES, 3))
    table = FlaggedTable(jnp.asarray(mean), jnp.asarray(variance), revealed)
    tables = predictions(table, PRIOR, QUERIES, outcome_size=6)
    outcome = jnp.asarray([0.4, 9.0, -0.2, 1.0, 0.0, 1.0])
    state = tables.update(tables.log_prior, jnp.asarray(2), outcome)
    terms = [
        scipy.stats.norm.pdf(value, mean[entry], 0.5)
        for entry, value in ((0, 0.4), (2, -0.2))
    ]
    found = np.exp(tables.log_posterior(state))
    np.testing.assert_allclose(found, bayes(PRIOR, terms), rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "num_cells", "first_kind", "first_cells"),
    [
        ("symbols", 3, "", 0),
        ("symbols", 2, "symbols", 5),
        ("gaussian", 4, "", 0),
        ("gaussian", 0, "gaussian", 0),
        ("ranges", 6, "ranges", 2),
        ("flagged", 0, "", 0),
    ],
)
def test_empty_tables_have_the_shape_that_is_asked_for(
    kind, num_cells, first_kind, first_cells
):
    spec = TaskSpec(num_queries=2, num_hypotheses=3, outcome_size=4, horizon=3)
    shape = PredictionShape(kind, 5, num_cells, first_kind, first_cells, 0.5, 0.3)
    empty = Predictions.empty(spec, shape)
    assert empty.shape(0.5) == shape
    assert empty.log_prior.shape == (15,)
    told = empty.along(jnp.asarray([0, 1]), jnp.ones((3, 4)))
    posterior = np.exp(empty.log_posterior(told))
    np.testing.assert_allclose(posterior, 1 / 3, rtol=1e-5)
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(empty))
