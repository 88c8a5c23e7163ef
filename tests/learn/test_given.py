"""Tables that a family gives are its exact belief."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.likelihood import belief_for
from icpe.families import AdaptiveTest, GaussianBandit, NoisyBinarySearch
from icpe.learn.given import given_tables
from icpe.learn.recipe import recipe
from icpe.learn.shape import tables_of, trust_of
from icpe.learn.survey import survey
from icpe.nets.predictions import Predictions

TEST = AdaptiveTest(num_items=12, horizon=8, draw=5)
ANSWERS = np.array([[0.0], [1.0]], np.float32)


@pytest.mark.parametrize(
    ("family", "symbols"),
    [(TEST, ANSWERS), (NoisyBinarySearch(size=5), np.array([[-1.0], [0.0], [1.0]]))],
    ids=["several classes", "one class"],
)
def test_the_posterior_and_the_information_are_those_of_the_exact_belief(
    family, symbols
):
    tables = given_tables(family, symbols, 2**20)
    assert tables is not None
    belief = belief_for(family)
    assert isinstance(belief, AbstractPredictiveBelief)
    first = jnp.zeros(1)
    state, weights = belief.init(first), tables.start(first)
    queries = jr.permutation(jr.key(0), family.spec.num_queries)[:4]
    task = family.sample_task(key=jr.key(1))
    for step, query in enumerate(queries):
        answer = family.step(None, query, task, key=jr.key(step)).outcome
        state = belief.update(state, query, answer)
        weights = tables.update(weights, query, answer)
        exact = np.exp(belief.log_posterior(state))
        np.testing.assert_allclose(
            np.exp(tables.log_posterior(weights)), exact, atol=2e-5
        )
        np.testing.assert_allclose(
            tables.information(jax.nn.softmax(weights)),
            belief.information_gains(state),
            atol=2e-5,
        )


@pytest.mark.slow
def test_a_family_whose_hypotheses_do_not_fix_the_law_starts_from_its_belief():
    found = survey(TEST)
    assert found.share_between_tasks > 0.01
    assert isinstance(found.given, Predictions) and found.given.num_each > 10
    config = recipe("cpu", TEST, found)
    assert tables_of(config, found) is found.given and trust_of(config, found) == 1.0


def test_what_does_not_fit_is_not_given():
    assert given_tables(TEST, ANSWERS, 10) is None
    assert given_tables(TEST, ANSWERS + 5.0, 2**20) is None
    assert given_tables(GaussianBandit(num_arms=3), ANSWERS, 2**20) is None
