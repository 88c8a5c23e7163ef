import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from icpe.core.errors import InvalidParameterError
from icpe.theory.finite_model import (
    finite_model,
    hypothesis_log_posterior,
    information_gains,
    log_weights_of_counts,
    outcome_probabilities,
    update,
)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def random_tables(seed, shared=True):
    """Five tasks, three hypotheses, three queries, two outcomes; some impossible."""
    rng = np.random.default_rng(seed)
    likelihood = rng.dirichlet(np.ones(2), size=(5, 3))
    likelihood[0, 0], likelihood[3, 2] = [1.0, 0.0], [0.0, 1.0]
    hypotheses = np.array([0, 1, 2, 1, 0]) if shared else np.arange(5)
    return rng.dirichlet(np.ones(5)), likelihood, hypotheses


def bayes(prior, likelihood, hypotheses, history):
    """The posterior by plain multiplication."""
    joint = prior.copy()
    for query, outcome in history:
        joint = joint * likelihood[:, query, outcome]
    return np.bincount(hypotheses, joint) / joint.sum()


HISTORY = [(0, 0), (2, 1), (2, 1), (1, 0), (0, 0)]


def test_posterior_is_bayes_rule_step_by_step_and_from_counts():
    tables = random_tables(0)
    model = finite_model(*tables)
    counts = np.zeros((3, 2))
    log_weights = model.log_prior
    for query, outcome in HISTORY:
        log_weights = update(
            model, log_weights, jnp.asarray(query), jnp.asarray(outcome)
        )
        counts[query, outcome] += 1
    expected = bayes(*tables, HISTORY)
    got = hypothesis_log_posterior(model, log_weights)
    np.testing.assert_allclose(np.exp(got), expected, rtol=1e-12)
    at_once = log_weights_of_counts(model, jnp.asarray(counts))
    np.testing.assert_allclose(at_once, log_weights, rtol=1e-12)


def test_long_histories_do_not_underflow():
    model = finite_model(*random_tables(1))
    counts = jnp.full((3, 2), 5000.0).at[0, 1].set(0.0).at[2, 0].set(0.0)
    posterior = hypothesis_log_posterior(model, log_weights_of_counts(model, counts))
    assert float(jnp.sum(jnp.exp(posterior))) == pytest.approx(1.0, rel=1e-9)
    assert jnp.all(jnp.isfinite(posterior)) and float(jnp.min(posterior)) < -745


def test_impossible_data_leave_no_hypothesis():
    prior, likelihood = np.array([0.5, 0.5]), np.array([[[1.0, 0.0]], [[1.0, 0.0]]])
    model = finite_model(prior, likelihood)
    log_weights = update(model, model.log_prior, jnp.asarray(0), jnp.asarray(1))
    posterior = hypothesis_log_posterior(model, log_weights)
    np.testing.assert_array_equal(posterior, [-np.inf, -np.inf])


@pytest.mark.parametrize("shared", [False, True])
def test_information_gain_is_the_expected_fall_of_the_entropy(shared):
    tables = random_tables(2, shared)
    model = finite_model(*tables)
    counts = np.zeros((3, 2))
    for query, outcome in HISTORY[:3]:
        counts[query, outcome] += 1
    log_weights = log_weights_of_counts(model, jnp.asarray(counts))
    gains = information_gains(model, log_weights)
    chances = np.asarray(outcome_probabilities(model, log_weights))
    np.testing.assert_allclose(chances.sum(1), 1.0, rtol=1e-12)
    before = special.entr(bayes(*tables, HISTORY[:3])).sum()
    for query in range(3):
        after = 0.0
        for outcome in range(2):
            if chances[query, outcome] > 0:
                belief = bayes(*tables, [*HISTORY[:3], (query, outcome)])
                after += chances[query, outcome] * special.entr(belief).sum()
        assert float(gains[query]) == pytest.approx(before - after, abs=1e-12)


def test_tables_that_are_no_probabilities_are_refused():
    prior, likelihood, hypotheses = random_tables(0)
    with pytest.raises(InvalidParameterError, match="prior must be"):
        finite_model(2 * prior, likelihood, hypotheses)
    with pytest.raises(InvalidParameterError, match="likelihood must be"):
        finite_model(prior, likelihood - 0.5, hypotheses)
    with pytest.raises(InvalidParameterError, match="numbered from 0"):
        finite_model(prior, likelihood, hypotheses - 1)
