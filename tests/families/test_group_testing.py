import itertools

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import GroupTesting
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

SMALL = GroupTesting(num_items=4, num_pools=5, sensitivity=0.9, specificity=0.8)


def positive(family):
    """P(positive | set, pool) in plain Python, from the pools of the frozen draw."""
    random = np.random.RandomState(family.draw)
    uniform = random.random_sample((family.num_pools, family.num_items))
    pools = uniform < 1 / (1 + family.num_faulty)
    return np.array(
        [
            [
                family.sensitivity if pool[list(some)].any() else 1 - family.specificity
                for pool in pools
            ]
            for some in itertools.combinations(
                range(family.num_items), family.num_faulty
            )
        ]
    )


@pytest.mark.slow
def test_group_testing_conforms():
    check_family(SMALL)


@pytest.mark.parametrize("num_faulty", [1, 2, 3])
def test_a_pool_is_positive_by_whether_it_holds_a_faulty_item(num_faulty):
    family = GroupTesting(num_items=5, num_faulty=num_faulty, num_pools=7, draw=3)
    np.testing.assert_allclose(family.positive, positive(family))


@pytest.mark.parametrize("num_faulty", [1, 2, 3])
def test_a_pool_holds_each_item_with_the_same_probability(num_faulty):
    family = GroupTesting(num_items=4, num_faulty=num_faulty, num_pools=4000)
    noticed = int((family.positive[0] == family.sensitivity).sum())
    # A pool misses each of k faulty items with probability k / (1 + k).
    missed = (num_faulty / (1 + num_faulty)) ** num_faulty
    assert scipy.stats.binomtest(noticed, 4000, 1 - missed).pvalue > ALARM


@pytest.mark.parametrize("pool", [0, 1])
def test_results_have_the_rates_of_the_test(pool, draw_outcomes):
    rates = positive(SMALL)[:, pool]
    for task in (int(rates.argmin()), int(rates.argmax())):
        results = draw_outcomes(SMALL, jnp.asarray(task), pool, 2000)[:, 0]
        test = scipy.stats.binomtest(int(results.sum()), 2000, rates[task])
        assert test.pvalue > ALARM


def test_all_sets_are_equally_probable(draw_tasks):
    counts = np.bincount(draw_tasks(SMALL, 3000), minlength=6)
    assert counts.size == 6
    assert scipy.stats.chisquare(counts).pvalue > ALARM


def test_the_posterior_is_a_product_over_tests_and_a_pool_may_be_repeated(
    posterior_after,
):
    pairs = [(0, 1), (3, 0), (0, 1), (2, 1), (0, 0)]
    rates = positive(SMALL)
    terms = [rates[:, p] if result else 1 - rates[:, p] for p, result in pairs]
    product = np.prod(terms, axis=0)
    np.testing.assert_allclose(
        posterior_after(SMALL, *pairs), product / product.sum(), rtol=1e-4
    )
    for (pool, result), term in zip(pairs, terms, strict=True):
        log = SMALL.log_likelihood(
            jnp.asarray(2), jnp.asarray(pool), jnp.float32(result)[None]
        )
        assert np.exp(log) == pytest.approx(term[2], rel=1e-5)
    assert not SMALL.spec.ask_once


def test_tests_without_error_leave_the_sets_that_agree(posterior_after):
    family = GroupTesting(num_items=4, num_pools=5, sensitivity=1.0, specificity=1.0)
    rates = positive(family)
    truth = 2
    agree = (rates == rates[truth]).all(1)
    pairs = [(pool, rates[truth, pool]) for pool in range(5)]
    posterior = posterior_after(family, *pairs)
    np.testing.assert_allclose(posterior, agree / agree.sum(), rtol=1e-5)


def test_sets_and_pools_are_named_by_their_items():
    family = GroupTesting(num_items=3, num_faulty=2, num_pools=2, draw=1)
    spec = family.spec
    assert spec.hypothesis_names == ("0 and 1", "0 and 2", "1 and 2")
    assert spec.query_names == ("pool 0 (2)", "pool 1 (0 1 2)")
    # Pool 0 cannot notice the set of 0 and 1.
    clears, notices = 1 - family.specificity, family.sensitivity
    np.testing.assert_allclose(family.positive[:, 0], [clears, notices, notices])
    assert dict(spec.outcome_labels) == {"negative": (0.0,), "positive": (1.0,)}
    assert spec.horizon == 40
    assert GroupTesting().spec.num_hypotheses == 120


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"num_items": 1}, "num_items must be between 2 and 1024; got 1."),
        ({"num_faulty": 0}, "num_faulty must be between 1 and 15; got 0."),
        ({"num_faulty": 16}, "num_faulty must be between 1 and 15; got 16."),
        ({"num_pools": 0}, "num_pools must be at least 1; got 0."),
        ({"sensitivity": 1.1}, "sensitivity must be between 0.0 and 1.0; got 1.1."),
        ({"specificity": -0.1}, "specificity must be between 0.0 and 1.0; got -0.1."),
        ({"horizon": 0}, "horizon must be at least 1; got 0."),
        ({"draw": -1}, "draw must be between 0 and 4294967295; got -1."),
    ],
)
def test_an_impossible_parameter_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        GroupTesting(**bad)
    assert str(caught.value) == sentence
