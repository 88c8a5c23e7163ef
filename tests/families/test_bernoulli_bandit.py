import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import BernoulliBandit
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

REJECTING = BernoulliBandit(
    num_arms=3, min_gap=0.2, prior_successes=2.0, prior_failures=3.0, batch_size=4
)


def test_a_bernoulli_bandit_conforms():
    check_family(BernoulliBandit(num_arms=3))


@pytest.mark.slow
def test_a_bernoulli_bandit_that_rejects_conforms():
    check_family(REJECTING)


@pytest.mark.slow
def test_rejection_gives_independent_beta_rates_given_the_gap(draw_tasks):
    rates = np.sort(draw_tasks(REJECTING, 2000), 1)
    proposed = np.sort(np.random.default_rng(0).beta(2.0, 3.0, (20000, 3)), 1)
    kept = proposed[proposed[:, 2] - proposed[:, 1] >= 0.2][:2000]
    assert (rates[:, 2] - rates[:, 1]).min() >= 0.2
    for column in range(3):
        result = scipy.stats.ks_2samp(rates[:, column], kept[:, column])
        assert result.pvalue > ALARM  # pyright: ignore[reportAttributeAccessIssue]


def test_uniform_rates_given_the_gap_have_the_closed_form(draw_tasks):
    rates = np.sort(draw_tasks(BernoulliBandit(num_arms=3, min_gap=0.3), 2000), 1)
    level = ((rates[:, 2] - 0.3) / 0.7) ** 3
    assert scipy.stats.kstest(level, "uniform").pvalue > ALARM
    assert (rates[:, 2] - rates[:, 1]).min() >= 0.3 - 1e-6


@pytest.mark.slow
def test_without_a_gap_the_rates_are_beta(draw_tasks):
    family = BernoulliBandit(num_arms=2, prior_successes=2.0, prior_failures=5.0)
    rates = draw_tasks(family, 1500).ravel()
    law = scipy.stats.beta(2.0, 5.0)
    assert scipy.stats.kstest(rates, law.cdf).pvalue > ALARM


@pytest.mark.parametrize(
    ("num_arms", "gap", "prior"), [(3, 0.2, (2.0, 3.0)), (5, 0.1, (1.0, 1.0))]
)
def test_the_probability_of_the_gap_agrees_with_simulation(num_arms, gap, prior):
    family = BernoulliBandit(
        num_arms=num_arms,
        min_gap=gap,
        prior_successes=prior[0],
        prior_failures=prior[1],
    )
    shape = (100_000, num_arms)
    rates = np.sort(np.random.default_rng(0).beta(prior[0], prior[1], shape), 1)
    share = np.mean(rates[:, -1] - rates[:, -2] >= gap)
    # Standard error below 0.0016, so 5 of them are exceeded with probability 6e-7.
    assert abs(family.gap_probability - share) < 0.008


def test_uniform_gaps_have_the_probability_of_the_top_spacing():
    # P(top spacing of K uniforms >= g) = (1 - g)^K.
    family = BernoulliBandit(num_arms=4, min_gap=0.25)
    assert family.gap_probability == pytest.approx(0.75**4, rel=1e-3)
    assert BernoulliBandit(num_arms=4).gap_probability == pytest.approx(1.0, rel=1e-3)


def test_an_outcome_counts_the_successes_of_a_batch(draw_outcomes):
    rates = jnp.asarray([0.2, 0.7, 0.4])
    outcomes = draw_outcomes(REJECTING, rates, 1, 3000)[:, 0]
    counts = np.bincount(outcomes.astype(int), minlength=5)
    expected = 3000 * scipy.stats.binom.pmf(np.arange(5), 4, 0.7)
    assert scipy.stats.chisquare(counts, expected).pvalue > ALARM
    assert int(REJECTING.hypothesis(rates)) == 1


@pytest.mark.slow
def test_a_large_batch_is_binomial_too(draw_outcomes):
    family = BernoulliBandit(num_arms=2, batch_size=400)
    outcomes = draw_outcomes(family, jnp.asarray([0.3, 0.1]), 0, 2000)[:, 0]
    law = scipy.stats.binom(400, 0.3)
    edges = law.ppf(np.linspace(0.1, 0.9, 9))
    counts = np.bincount(np.searchsorted(edges, outcomes), minlength=10)
    expected = 2000 * np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    assert scipy.stats.chisquare(counts, expected).pvalue > ALARM


def test_a_single_visitor_has_words_for_the_outcome():
    labels = dict(BernoulliBandit().spec.outcome_labels)
    assert labels == {"success": (1.0,), "failure": (0.0,)}
    assert "20 visitors" in BernoulliBandit(batch_size=20).spec.question


@pytest.mark.parametrize(
    "bad",
    [
        {"num_arms": 1},
        {"batch_size": 0},
        {"min_gap": 1.5},
        {"min_gap": 0.9, "num_arms": 10},
        {"prior_successes": 0.0},
        {"prior_failures": -1.0},
        {"horizon": 0},
    ],
)
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        BernoulliBandit(**bad)
