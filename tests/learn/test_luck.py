"""Luck of answers: of mean zero whatever is asked, so that it can be subtracted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.explorers.neural.inputs import Predicted
from icpe.learn.targets import (
    Targets,
    lambda_returns,
    luck_of_answers,
    without_luck,
)
from support.prediction_tables import predictions, random_law, symbol_table

HYPOTHESES, QUERIES, SYMBOLS = 4, 3, 3
LAW, PRIOR = random_law(HYPOTHESES, QUERIES, SYMBOLS, seed=5)
TABLES = predictions(symbol_table(LAW), PRIOR, QUERIES)
UNIT = jnp.asarray([0.02, 0.03, 0.05])


def luck(queries, outcomes):
    """Of each of two answers."""
    shown = jnp.asarray([0.0, *outcomes])[:, None]
    asked = jnp.asarray(queries)
    log_weights = TABLES.along(asked, shown)
    made = jax.nn.one_hot(asked, QUERIES)
    counts = jnp.concatenate([jnp.zeros((1, QUERIES)), jnp.cumsum(made, axis=0)])
    told = Predicted(log_weights, counts).told(TABLES)
    return np.asarray(luck_of_answers(told, UNIT, asked))


@pytest.mark.parametrize("queries", [(0, 1), (2, 2), (1, 0)])
def test_luck_has_mean_zero_at_every_step_given_what_came_before(queries):
    """By the sum over all answers, with their probabilities under the tables."""
    first = np.zeros(SYMBOLS)
    for one in range(SYMBOLS):
        after = PRIOR * LAW[:, queries[0], one]
        second = np.zeros(SYMBOLS)
        for other in range(SYMBOLS):
            found = luck(queries, (one, other))
            first[one], second[other] = found
        chances = after / after.sum() @ LAW[:, queries[1]]
        assert chances @ second == pytest.approx(0.0, abs=2e-6)
        assert np.abs(second).max() > 1e-3
    assert PRIOR @ LAW[:, queries[0]] @ first == pytest.approx(0.0, abs=2e-6)


def entropy(weights):
    weights = weights / weights.sum()
    return -np.sum(weights * np.log(weights))


def test_luck_is_the_surplus_of_information_at_the_rate_of_the_best_query():
    found = luck((0, 1), (2, 1))[0]
    after = PRIOR * LAW[:, 0, 2]
    tells = [
        entropy(PRIOR)
        - sum((PRIOR @ LAW[:, q, o]) * entropy(PRIOR * LAW[:, q, o]) for o in range(3))
        for q in range(QUERIES)
    ]
    surplus = entropy(PRIOR) - entropy(after) - tells[0]
    assert found == pytest.approx(0.02 * surplus / max(tells), rel=1e-3)


batch = jax.vmap(Targets)


def test_as_much_luck_is_subtracted_as_explains_the_noise():
    random = np.random.default_rng(0)
    chance = random.standard_normal((50, 8))
    truth = random.random((50, 8))
    other = 0.1 * random.standard_normal((50, 8))
    weight = jnp.asarray(random.random((50, 8)), jnp.float32)
    targets = batch(
        jnp.asarray(truth + 2.0 * chance + other, jnp.float32),
        jnp.asarray(chance, jnp.float32),
    )
    expected = jnp.asarray(truth, jnp.float32)
    left = np.asarray(without_luck(targets, expected, weight)) - truth
    # The regression's slope is off by 0.1 / sqrt(400 * 0.75) or so: five of these.
    np.testing.assert_allclose(left, other, atol=5 * 0.006 * np.abs(chance).max())


@pytest.mark.parametrize(("slope", "share"), [(-1.0, 0.0), (9.0, 3.0)])
def test_it_is_never_added_and_never_subtracted_many_times(slope, share):
    chance = jnp.asarray([[1.0, -2.0, 0.5]])
    targets = batch(slope * chance, chance)
    left = without_luck(targets, jnp.zeros((1, 3)), jnp.ones((1, 3)))
    np.testing.assert_allclose(left, (slope - share) * chance, rtol=1e-5)


def test_where_luck_is_not_known_targets_stay():
    gain = jnp.asarray([[0.1, 0.2]])
    found = without_luck(batch(gain, None), jnp.zeros((1, 2)), jnp.ones((1, 2)))
    np.testing.assert_array_equal(found, gain)


@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("steps", [1, 7, 60])
def test_lambda_returns_are_those_of_the_recursion(discount, steps):
    random = np.random.default_rng(steps)
    rewards, values = random.standard_normal((2, steps))
    traces = random.choice([0.0, 0.5, 0.9, 1.0], steps)
    traces[-1] = 0.0
    expected, later = np.zeros(steps), 0.0
    for t in reversed(range(steps)):
        mixed = (1 - traces[t]) * values[t] + traces[t] * later
        later = expected[t] = rewards[t] + discount * mixed
    found = lambda_returns(
        *(jnp.asarray(x, jnp.float32) for x in (rewards, values, traces)),
        discount=discount,
    )
    np.testing.assert_allclose(found, expected, atol=2e-5)
