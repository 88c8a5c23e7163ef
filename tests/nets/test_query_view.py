"""What tables say of each query, against sums over everything that may happen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.nets import predictions as module
from icpe.nets.outcome_tables import FlaggedTable
from support.prediction_tables import predictions, random_law, symbol_table

CLASSES, QUERIES, SYMBOLS = 6, 4, 3
LAW, PRIOR = random_law(CLASSES, QUERIES, SYMBOLS, seed=1)
WEIGHTS = np.random.default_rng(2).dirichlet(np.ones(CLASSES), 5)
"""What is believed of the classes after five histories."""
LOG_WEIGHTS = jnp.asarray(np.log(WEIGHTS), jnp.float32)
NEVER = jnp.zeros((5, QUERIES))
INFORMATION, RATIO, REMOVED, LOG_COST, TIMES = range(5)
"""The features of a query."""


def joint(weights, query, num_each=1):
    """P(hypothesis, outcome) under a query, by the classes of each hypothesis."""
    table = weights[:, None] * LAW[:, query]
    return table.reshape(-1, num_each, SYMBOLS).sum(axis=1)


def mutual_information(table):
    """Of the row and the column, in nats."""
    both, row, column = table, table.sum(1), table.sum(0)
    return np.sum(both * np.log(both / np.outer(row, column)))


def removed_error(table):
    """Share of the error that is removed by seeing the column."""
    before = table.sum(1).max()
    return (table.max(axis=0).sum() - before) / (1 - before)


def tables(**options):
    return predictions(symbol_table(LAW), PRIOR, QUERIES, **options)


@pytest.mark.parametrize("num_each", [1, 2, 3])
def test_information_and_error_removed_are_those_of_enumeration(num_each):
    view = tables(num_each=num_each).told(LOG_WEIGHTS, NEVER).view
    for weights, features in zip(WEIGHTS, np.asarray(view.features), strict=True):
        for query in range(QUERIES):
            table = joint(weights, query, num_each)
            told, removed = mutual_information(table), removed_error(table)
            assert features[query, INFORMATION] == pytest.approx(told, abs=2e-6)
            assert features[query, REMOVED] == pytest.approx(removed, abs=2e-6)


def test_where_looking_at_all_takes_long_information_is_that_about_the_class(
    monkeypatch,
):
    monkeypatch.setattr(module, "_LARGEST_EXACT", 1)
    found = tables(num_each=2).told(LOG_WEIGHTS, NEVER).view.features
    for weights, features in zip(WEIGHTS, np.asarray(found), strict=True):
        for query in range(QUERIES):
            exact = mutual_information(joint(weights, query, 1))
            assert features[query, INFORMATION] == pytest.approx(exact, abs=2e-6)
            assert exact > mutual_information(joint(weights, query, 2)) + 1e-4
    np.testing.assert_array_equal(found[..., REMOVED], 0.0)


def test_queries_are_preferred_in_part_for_what_they_tell_of_the_class():
    shared = tables(num_each=2).with_class_share(0.3)
    features = np.asarray(shared.told(LOG_WEIGHTS, NEVER).view.features)
    for weights, found in zip(WEIGHTS, features, strict=True):
        own = [mutual_information(joint(weights, query, 2)) for query in range(QUERIES)]
        fine = [mutual_information(joint(weights, query)) for query in range(QUERIES)]
        wanted = 0.7 * np.array(own) + 0.3 * np.array(fine)
        np.testing.assert_allclose(found[:, INFORMATION], own, atol=2e-6)
        np.testing.assert_allclose(found[:, RATIO], wanted / wanted.max(), atol=2e-5)


def test_a_class_for_each_hypothesis_leaves_nothing_to_share():
    assert tables(num_each=2).can_share
    assert not tables().can_share
    plain, shared = tables(), tables().with_class_share(0.3)
    for one, other in zip(
        jax.tree.leaves(plain.told(LOG_WEIGHTS, NEVER)),
        jax.tree.leaves(shared.told(LOG_WEIGHTS, NEVER)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("costs", [(), (1.0, 2.0, 5.0, 0.5)])
def test_a_query_is_charged_the_cost_of_the_best_and_what_it_wastes(costs):
    view = tables(costs=costs).told(LOG_WEIGHTS, NEVER).view
    cost = np.array(costs or (1.0,) * QUERIES)
    for i, weights in enumerate(WEIGHTS):
        told = [mutual_information(joint(weights, query)) for query in range(QUERIES)]
        rate = told / cost
        ratio = rate / rate.max()
        charge = cost[rate.argmax()] + cost * (1 - ratio)
        np.testing.assert_allclose(view.features[i, :, RATIO], ratio, atol=2e-5)
        np.testing.assert_allclose(view.charge[i], charge, atol=1e-4)
        assert np.flatnonzero(view.is_best[i]).tolist() == [rate.argmax()]
        np.testing.assert_allclose(view.features[i, :, LOG_COST], np.log(cost))


def test_a_query_that_cannot_be_made_again_is_not_the_best():
    before = tables(ask_once=True).told(LOG_WEIGHTS, NEVER).view
    best = np.asarray(before.features[..., RATIO].argmax(axis=1))
    made = jnp.asarray(np.eye(QUERIES)[best], jnp.float32)
    after = tables(ask_once=True).told(LOG_WEIGHTS, made).view
    again = tables().told(LOG_WEIGHTS, made).view
    for i, query in enumerate(best):
        assert after.features[i, query, RATIO] == 0.0
        second = np.asarray(after.features[i, :, RATIO]).argmax()
        others = np.delete(np.asarray(before.features[i, :, INFORMATION]), query)
        assert before.features[i, second, INFORMATION] == others.max()
        assert again.features[i, query, RATIO] == 1.0
    np.testing.assert_allclose(after.features[..., TIMES], np.log1p(made))


def test_one_history_is_a_batch_without_an_axis():
    whole = tables(num_each=2).told(LOG_WEIGHTS, NEVER).view
    one = tables(num_each=2).told(LOG_WEIGHTS[3], NEVER[3]).view
    np.testing.assert_allclose(one.features, whole.features[3], atol=1e-6)
    np.testing.assert_allclose(one.charge, whole.charge[3], atol=1e-5)


def test_without_doubt_no_query_tells_anything():
    sure = jnp.asarray([0.0, *[-60.0] * (CLASSES - 1)])
    view = tables().told(sure, NEVER[0]).view
    np.testing.assert_allclose(view.features[:, INFORMATION], 0.0, atol=1e-6)
    np.testing.assert_allclose(view.features[:, REMOVED], 0.0, atol=1e-6)
    assert np.isfinite(np.asarray(view.charge)).all()


def test_of_flagged_numbers_a_query_tells_what_it_reveals():
    mean = np.random.default_rng(3).normal(size=(2, CLASSES))
    noise = np.full((2, CLASSES), 0.3)
    revealed = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    table = FlaggedTable(
        *(jnp.asarray(x, jnp.float32) for x in (mean, noise, revealed))
    )
    flagged = predictions(table, PRIOR, QUERIES, outcome_size=4)
    weights = jnp.asarray(WEIGHTS[0], jnp.float32)
    told = np.asarray(flagged.information(weights))
    spread = WEIGHTS[0] @ mean.T**2 - (WEIGHTS[0] @ mean.T) ** 2
    np.testing.assert_allclose(told[:2], 0.5 * np.log1p(spread / 0.3), rtol=1e-4)
    assert told[2] == pytest.approx(told[:2].mean(), rel=1e-5)
    assert told[3] == 0.0
