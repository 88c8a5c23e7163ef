import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.families import RandomTests
from icpe.families.finite import bayes_optimum
from icpe.play.rollout import rollout_chunks
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

SMALL = RandomTests(num_conditions=4, num_tests=5, num_results=3, max_cost=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [SMALL, RandomTests(num_conditions=3, num_tests=2, once=False)]
)
def test_random_tests_conform(family):
    check_family(family)


def test_the_table_is_dirichlet():
    table = RandomTests(
        num_conditions=60, num_tests=60, num_results=3, spread=2.0
    ).table
    np.testing.assert_allclose(table.sum(-1), 1.0)
    for result in range(3):
        one = table[..., result].ravel()
        assert scipy.stats.kstest(one, scipy.stats.beta(2, 4).cdf).pvalue > ALARM
    # Two entries of Dirichlet(2, 2, 2) have correlation -1/2. Five standard errors of
    # less than 0.02 each are exceeded with probability 6e-7.
    correlation = np.corrcoef(table[..., 0].ravel(), table[..., 1].ravel())[0, 1]
    assert correlation == pytest.approx(-0.5, abs=0.1)


def test_the_draw_and_nothing_else_decides_on_the_table():
    table = RandomTests(num_conditions=4, num_tests=5).table
    np.testing.assert_array_equal(
        table, RandomTests(num_conditions=4, num_tests=5, once=False).table
    )
    other = RandomTests(num_conditions=4, num_tests=5, draw=1).table
    assert np.abs(table - other).max() > 0.1


def test_no_result_is_impossible():
    assert RandomTests(spread=0.02).table.min() >= 0.99e-6


def test_results_have_the_probabilities_of_the_table(draw_outcomes):
    results = draw_outcomes(SMALL, jnp.asarray(2), 3, 3000)[:, 0].astype(int)
    counts = np.bincount(results, minlength=3)
    expected = 3000 * SMALL.table[2, 3]
    assert scipy.stats.chisquare(counts, expected).pvalue > ALARM


def test_every_condition_is_equally_probable(draw_tasks):
    conditions = draw_tasks(SMALL, 4000)
    assert int(SMALL.hypothesis(jnp.asarray(3))) == 3
    assert scipy.stats.chisquare(np.bincount(conditions)).pvalue > ALARM


def test_the_posterior_is_the_product_of_the_table(posterior_after):
    pairs = [(0, 2), (4, 0), (3, 1), (2, 2)]
    product = np.prod([SMALL.table[:, test, result] for test, result in pairs], axis=0)
    np.testing.assert_allclose(
        posterior_after(SMALL, *pairs), product / product.sum(), rtol=1e-4
    )
    for test, result in pairs:
        log = SMALL.log_likelihood(
            jnp.asarray(1), jnp.asarray(test), jnp.float32(result)[None]
        )
        assert np.exp(log) == pytest.approx(SMALL.table[1, test, result], rel=1e-5)


def test_costs_are_whole_numbers_up_to_the_largest():
    costs = np.array(RandomTests(num_tests=400, max_cost=4).spec.costs, int)
    assert scipy.stats.chisquare(np.bincount(costs)[1:]).pvalue > ALARM
    assert costs.max() == 4
    assert RandomTests(max_cost=1).spec.costs == ()


def test_each_test_is_made_once_and_paid_for(key):
    explorer = make_explorer("uniform", SMALL)
    point = OperatingPoint.at(SMALL.spec.horizon, budget=5)
    (episodes,) = rollout_chunks(explorer, SMALL, point, 8, key=key)
    queries = np.sort(np.asarray(episodes.history.queries), axis=1)
    np.testing.assert_array_equal(queries, np.tile(np.arange(5), (8, 1)))
    np.testing.assert_allclose(episodes.ending.cost, sum(SMALL.spec.costs))


def test_tests_are_numbered_and_the_default_horizon_is_all_of_them_or_40():
    assert SMALL.spec.ask_once
    assert SMALL.spec.horizon == 5
    assert SMALL.spec.query_names[4] == "test 4"
    assert SMALL.spec.hypothesis_names[3] == "condition 3"
    repeatable = RandomTests(num_tests=5, once=False)
    assert not repeatable.spec.ask_once
    assert repeatable.spec.horizon == 40
    assert RandomTests(horizon=7).spec.horizon == 7


def test_the_limit_with_one_test_is_a_mixture_of_testing_and_guessing():
    family = RandomTests(num_conditions=2, num_tests=1, once=False, horizon=1)
    best = family.table[:, 0].max(axis=0).sum() / 2
    error_prob = 1 - (0.5 + best) / 2  # Halfway: every other time it takes the test.
    limits = bayes_optimum(family, error_prob=error_prob).limits
    assert limits["bayes_mean_queries"] == pytest.approx(0.5, rel=1e-4)
    impossible = bayes_optimum(family, error_prob=(1 - best) / 2).limits
    assert impossible == {"bayes_mean_queries": None}
    assert bayes_optimum(family).limits == {}
    unknown = bayes_optimum(RandomTests(), error_prob=0.1)
    assert unknown.limits == {} and "dynamic program" in unknown.reason


@pytest.mark.parametrize("max_cost", [1, 3])
def test_the_limit_of_tests_that_are_made_once_is_that_of_all_histories(max_cost):
    family = RandomTests(num_conditions=3, num_tests=3, max_cost=max_cost, draw=2)
    price, table = 0.02, family.table
    costs = family.spec.costs or (1.0,) * 3

    def best(joint, left):
        """(value, accuracy, cost) over all histories, nothing merged."""
        options = [(joint.max(), joint.max(), 0.0)]
        for test in left:
            after = [best(joint * table[:, test, r], left - {test}) for r in range(2)]
            value, right, paid = np.sum(after, axis=0)
            fee = costs[test] * joint.sum()
            options.append((value - price * fee, right, paid + fee))
        return max(options)

    _, accuracy, cost = best(np.full(3, 1 / 3), frozenset(range(3)))
    found = bayes_optimum(family, price=price).limits
    assert found["bayes_accuracy"] == pytest.approx(accuracy, abs=1e-6)
    name = "bayes_mean_cost" if max_cost > 1 else "bayes_mean_queries"
    assert found[name] == pytest.approx(cost, abs=1e-6)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"num_conditions": 1}, "num_conditions must be at least 2; got 1."),
        ({"num_tests": 0}, "num_tests must be at least 1; got 0."),
        ({"num_results": 1}, "num_results must be at least 2; got 1."),
        ({"max_cost": 0}, "max_cost must be at least 1; got 0."),
        ({"spread": 0.01}, "spread must be between 0.02 and 1000000.0; got 0.01."),
        ({"spread": 2e6}, "spread must be between 0.02 and 1000000.0; got 2000000.0."),
        ({"horizon": -1}, "horizon must be at least 0; got -1."),
        ({"draw": -1}, "draw must be between 0 and 4294967295; got -1."),
    ],
)
def test_an_impossible_parameter_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        RandomTests(**bad)
    assert str(caught.value) == sentence
