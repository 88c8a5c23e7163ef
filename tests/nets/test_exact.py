"""Predictions by the exact belief of a family."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.request import OperatingPoint
from icpe.families import make
from icpe.families.network import Network
from icpe.learn.given import given_belief
from icpe.learn.random_play import RandomQueries
from icpe.nets.evidence import INFORMATION
from icpe.nets.exact import ExactPredictions
from icpe.play.rollout import rollout

FAMILY = Network()


def exact_belief():
    belief = FAMILY.exact_belief()
    assert belief is not None
    return belief


@pytest.fixture(scope="module")
def predictions():
    return ExactPredictions.of(FAMILY.spec, exact_belief())


@pytest.fixture(scope="module")
def history():
    point = OperatingPoint.at(FAMILY.spec.horizon, budget=2)
    keys = jr.split(jr.key(0), 5)
    return rollout(RandomQueries(), FAMILY, point, keys=keys).history


def counts_of(history):
    made = jax.nn.one_hot(history.queries, FAMILY.spec.num_queries)
    return jnp.pad(jnp.cumsum(made, axis=1), ((0, 0), (1, 0), (0, 0)))


def test_along_a_history_they_are_the_belief_step_by_step(predictions, history):
    states = jax.vmap(predictions.along)(history.queries, history.outcomes)
    told = eqx.filter_jit(predictions.told)(states, counts_of(history))
    belief = exact_belief()
    for episode in range(5):
        state = belief.init(history.outcomes[episode, 0])
        for step in range(4):
            np.testing.assert_allclose(
                told.log_posterior[episode, step],
                belief.log_posterior(state),
                atol=1e-5,
            )
            np.testing.assert_allclose(
                told.view.features[episode, step, :, INFORMATION],
                belief.information_gains(state),
                atol=1e-6,
            )
            if step < 3 and history.queries[episode, step] >= 0:  # padding is silent
                query = history.queries[episode, step]
                outcome = history.outcomes[episode, step + 1]
                state = belief.update(state, query, outcome)


def test_the_share_of_the_error_removed_is_that_of_enumeration(predictions):
    """By playing each answer: 1 - max_h P(h) falls to the mean of what is left."""
    belief = exact_belief()
    state = belief.init(jnp.zeros(1))
    told = predictions.told(state, jnp.zeros(FAMILY.spec.num_queries))
    prior = np.exp(belief.log_posterior(state))
    for query, words in enumerate(FAMILY.spec.query_outcomes):
        right = 0.0
        _, marginals = belief.joint_and_marginals(state)
        node = FAMILY.variables.index(FAMILY.queries[query])
        for answer in range(len(words)):
            chance = float(np.sum(prior * np.asarray(marginals[:, node, answer])))
            after = belief.update(state, jnp.asarray(query), jnp.full(1, float(answer)))
            right += chance * float(np.exp(belief.log_posterior(after)).max())
        removed = (right - prior.max()) / (1 - prior.max())
        np.testing.assert_allclose(told.view.features[query, 2], removed, atol=1e-5)


def test_a_belief_that_takes_too_long_is_not_given():
    assert isinstance(given_belief(FAMILY, 2**22), ExactPredictions)
    assert given_belief(FAMILY, 10.0) is None
    assert given_belief(FAMILY, 10.0, 2**22) is not None  # it has no faster way
    assert given_belief(make("deterministic-bandit"), 2**30) is None  # not predictive
    assert given_belief(make("patches"), 2**30) is None
