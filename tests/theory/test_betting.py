"""Wealth is a fair bet at the edge of the null, and crosses as rarely as Ville says."""

import numpy as np
import pytest
from scipy import integrate, stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.betting import (
    bets_needed,
    fewest_bets,
    fewest_successes,
    log_wealth,
)


@pytest.mark.parametrize("successes, failures", [(0, 0), (3, 0), (7, 2), (30, 5)])
@pytest.mark.parametrize("probability", [0.3, 0.8])
def test_wealth_is_the_average_of_the_likelihood_ratios(
    successes, failures, probability
):
    def ratio(q):
        return (q / probability) ** successes * (
            (1 - q) / (1 - probability)
        ) ** failures

    integral, _ = integrate.quad(ratio, probability, 1, epsabs=0, epsrel=1e-11)
    assert np.exp(
        log_wealth(successes, successes + failures, probability=probability)
    ) == pytest.approx(integral / (1 - probability), rel=1e-9)


@pytest.mark.parametrize("trials", [1, 10, 100])
@pytest.mark.parametrize("probability", [0.3, 0.9])
def test_wealth_is_one_on_average_at_the_edge_and_less_below(trials, probability):
    counts = np.arange(trials + 1)
    wealth = np.exp(log_wealth(counts, trials, probability=probability))
    fair = stats.binom.pmf(counts, trials, probability) @ wealth
    assert fair == pytest.approx(1.0, rel=1e-9)
    assert stats.binom.pmf(counts, trials, 0.9 * probability) @ wealth < 1.0


@pytest.mark.parametrize("probability", [0.5, 0.9])
@pytest.mark.parametrize("level", [0.05, 0.5])
def test_a_watcher_of_every_trial_rejects_with_at_most_the_level(probability, level):
    alive, crossed = np.ones(1), 0.0
    for trials in range(1, 400):
        alive = np.convolve(alive, [1 - probability, probability])
        counts = np.arange(trials + 1)
        hit = log_wealth(counts, trials, probability=probability) >= -np.log(level)
        crossed += alive[hit].sum()
        alive = np.where(hit, 0.0, alive)
    # Most of the level is used, unlike by the mixture boundary.
    assert 0.3 * level <= crossed <= level


def test_evidence_grows_with_the_truth_and_never_overflows():
    many = 10**7
    assert log_wealth(many, many, probability=0.5) == pytest.approx(
        many * np.log(2) - np.log(many / 2), rel=1e-6
    )
    assert log_wealth(0, many, probability=0.5) < -many / 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: log_wealth(1, 2, probability=1.0),
        lambda: log_wealth(3, 2, probability=0.5),
        lambda: log_wealth(-1, 2, probability=0.5),
        lambda: fewest_successes(2, probability=0.5, level=0.0),
    ],
)
def test_impossible_input_is_refused(call):
    with pytest.raises(InvalidParameterError, match="must"):
        call()


@pytest.mark.parametrize("trials", [1, 7, 60, 3000])
def test_wealth_decreases_in_what_is_to_be_shown(trials):
    """So one sequence of trials serves every probability: a confidence sequence."""
    probabilities = np.linspace(0.01, 0.99, 197)
    for successes in np.unique(np.linspace(0, trials, 23).astype(int)):
        wealth = [log_wealth(successes, trials, probability=p) for p in probabilities]
        assert np.all(np.diff(np.maximum(wealth, -600.0)) <= 1e-9)


@pytest.mark.parametrize("trials", [1, 5, 40, 300])
@pytest.mark.parametrize("probability", [0.5, 0.9])
@pytest.mark.parametrize("level", [0.3, 0.003])
def test_the_critical_number_is_the_smallest_that_suffices(trials, probability, level):
    counts = np.arange(trials + 1)
    wealth = log_wealth(counts, trials, probability=probability)
    expected = int(np.sum(wealth < -np.log(level)))
    assert fewest_successes(trials, probability=probability, level=level) == expected


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.999])
def test_the_fewest_bets_follow_from_the_closed_form(probability):
    level = 0.003
    fewest = fewest_bets(probability, level)

    def wealth(n):
        grown = probability ** (-n) - probability
        return grown / ((n + 1) * (1 - probability))

    assert wealth(fewest) >= 1 / level > wealth(fewest - 1)


def test_the_bets_needed_give_the_power_and_one_less_does_not():
    needed = bets_needed(0.92, 0.9, 0.003, 0.9)
    assert needed is not None
    powers = [
        stats.binom.sf(fewest_successes(n, probability=0.9, level=0.003) - 1, n, p=0.92)
        for n in (needed - 1, needed)
    ]
    assert powers[0] < 0.9 <= powers[1]
    assert bets_needed(0.9, 0.9, 0.003, 0.9) is None
    assert bets_needed(0.9 + 1e-7, 0.9, 0.003, 0.9) is None
