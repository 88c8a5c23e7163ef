"""Certification of stand-ins that are right with known probabilities."""

import numpy as np
import pytest
from scipy import stats

from icpe.artifact.operating_table import OperatingRow
from icpe.core.errors import InvalidParameterError
from icpe.evaluate.ladder import (
    check_episodes,
    climb,
    default_episodes,
    plan_ladder,
)
from icpe.theory.fixed_sequence import critical_successes, pass_probability

CALIBRATION = 4096


def row(price, accuracy, cost=None):
    cost = 10.0 - price if cost is None else cost
    return OperatingRow(
        price=price,
        max_queries=10,
        episodes=CALIBRATION,
        accuracy=accuracy,
        lower_bound=0.0,
        mean_queries=cost,
        quantiles=(1, 1, 1),
        longest=10,
        mean_cost=cost,
    )


class StandIn:
    """An explorer that is right with a given probability at each of its prices."""

    def __init__(self, accuracies, rng):
        self.rng = rng
        self.accuracy_at = {float(i + 1): p for i, p in enumerate(accuracies)}

    def calibrate(self):
        return [
            row(price, self.rng.binomial(CALIBRATION, p) / CALIBRATION)
            for price, p in self.accuracy_at.items()
        ]

    def certify(self, error_prob, episodes, confidence=0.95):
        return climb(
            self.calibrate(),
            lambda price: self.rng.binomial(episodes, self.accuracy_at[price]),
            error_prob=error_prob,
            confidence=confidence,
            episodes=episodes,
        )


@pytest.mark.parametrize(
    "error_prob, above",
    [
        (0.1, (0.0, 0.0)),
        (0.1, (0.02, 0.01, 0.0, -0.01)),
        (0.1, (-1e-3, -1e-3)),
        (0.01, (5e-3, 0.0, -1e-3, -2e-3)),
        (0.3, (-0.02, 0.0, -1e-4, 0.01)),
    ],
)
def test_a_price_that_errs_too_often_is_certified_at_most_at_the_level(
    error_prob, above
):
    """At most 5 %, whether accuracies lie below the boundary, at it or on both sides.

    If the rate were 5 % exactly, the test would fail with probability 1e-6.
    """
    rng = np.random.default_rng(0)
    episodes = default_episodes(error_prob, 0.95)
    model = StandIn(1 - error_prob + np.array(above), rng)
    wrong = 0
    for _ in range(2000):
        result = model.certify(error_prob, episodes)
        truth = model.accuracy_at[result.price]
        wrong += result.certified and truth <= 1 - error_prob
    assert wrong <= stats.binom.isf(1e-6, 2000, 0.05)


@pytest.mark.parametrize("error_prob", [0.02, 0.1, 0.5])
def test_an_accuracy_one_percent_above_is_certified_in_nine_runs_of_ten(error_prob):
    """The true rate is 95 % or more; 1,850 or fewer of 2,000 have chance 1e-6."""
    rng = np.random.default_rng(1)
    episodes = default_episodes(error_prob, 0.95)
    model = StandIn([1 - error_prob + 0.01] * 2, rng)
    certified = sum(model.certify(error_prob, episodes).certified for _ in range(2000))
    assert certified >= 1850


def test_the_certified_price_is_close_to_the_best_one():
    """Accuracies fall by 0.5 % from price to price; the eleventh is the last right."""
    rng = np.random.default_rng(2)
    model = StandIn(0.95 - 0.005 * np.arange(16), rng)
    episodes = default_episodes(0.1, 0.95)
    prices = [model.certify(0.1, episodes).price for _ in range(300)]
    # Price 9 is 0.01 above, the margin that the number of episodes is made for, and
    # passes with probability 0.95; below 0.87 of 300 has probability 1e-7.
    assert np.mean(np.array(prices) >= 9) >= 0.87
    assert max(prices) <= 12


@pytest.mark.parametrize("error_prob", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_the_default_number_of_episodes_gives_its_power(error_prob, confidence):
    episodes = default_episodes(error_prob, confidence)
    accuracy = 1 - error_prob
    critical = critical_successes(episodes, accuracy, confidence)
    margin = min(0.01, error_prob / 2)
    assert pass_probability(episodes, critical, accuracy + margin) >= 0.95


def ladder(rows, error_prob=0.1, episodes=9000):
    return plan_ladder(rows, error_prob=error_prob, confidence=0.95, episodes=episodes)


def test_the_ladder_starts_at_the_cheapest_clear_pass_and_stops_before_no_hope():
    accuracies = [0.99, 0.97, 0.95, 0.92, 0.91, 0.906, 0.88, 0.5]
    rows = [row(price + 1.0, p) for price, p in enumerate(accuracies)]
    assert ladder(rows) == (4.0, 5.0, 6.0)


def test_without_a_clear_pass_the_ladder_starts_where_passing_is_likeliest():
    rows = [row(1.0, 0.5), row(2.0, 0.8), row(3.0, 0.7)]
    assert ladder(rows) == (2.0,)


def test_larger_prices_that_are_not_cheaper_are_left_out():
    rows = [row(1.0, 1.0, cost=3), row(2.0, 1.0, cost=3), row(3.0, 0.91, cost=3)]
    assert ladder(rows) == (1.0,)
    rows = [row(1.0, 1.0, cost=3), row(2.0, 0.91, cost=4), row(3.0, 0.91, cost=2)]
    assert ladder(rows) == (1.0, 3.0)


def test_too_few_episodes_are_refused_with_the_number_that_is_needed():
    check_episodes(299, 0.01, 0.95)
    with pytest.raises(InvalidParameterError, match=r"at least 299 .* got 298"):
        check_episodes(298, 0.01, 0.95)
