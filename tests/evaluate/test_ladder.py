"""Which prices are tested, at which level, and on how many episodes."""

import numpy as np
import pytest
from scipy import stats

from icpe.artifact.operating_table import OperatingRow
from icpe.core.errors import InvalidParameterError
from icpe.evaluate.ladder import (
    MOST_PRICES,
    chance_of_passing,
    check_episodes,
    default_episodes,
    default_limit,
    plan_fixed_sequence,
    plan_ladder,
    price_level,
)
from icpe.theory.betting import fewest_successes
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


@pytest.mark.parametrize("error_prob", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_the_default_number_of_episodes_gives_its_power(error_prob, confidence):
    episodes = default_episodes(error_prob, confidence)
    accuracy = 1 - error_prob
    critical = critical_successes(episodes, accuracy, confidence)
    margin = min(0.01, error_prob / 2)
    assert pass_probability(episodes, critical, accuracy + margin) >= 0.95


@pytest.mark.parametrize("error_prob", [0.01, 0.1, 0.3])
def test_at_the_limit_betting_has_power_at_every_price_of_a_long_ladder(error_prob):
    limit = default_limit(error_prob, 0.95)
    level = price_level(0.95, 1, MOST_PRICES)
    accuracy = 1 - error_prob
    critical = fewest_successes(limit, probability=accuracy, level=level)
    margin = min(0.01, error_prob / 2)
    assert pass_probability(limit, critical, accuracy + margin) >= 0.95


def test_the_levels_of_all_prices_of_all_attempts_stay_below_that_of_the_certificate():
    spent = sum(8 * price_level(0.95, attempt, 8) for attempt in range(1, 40))
    assert 0.0499 < spent < 0.05
    assert price_level(0.9, 1, 1) == pytest.approx(0.05)
    assert price_level(0.9, 3, 4) == pytest.approx(0.1 / 8 / 4)


def ladder(rows, error_prob=0.1):
    return plan_ladder(rows, error_prob=error_prob, confidence=0.95)


def fixed_sequence(rows, error_prob=0.1, episodes=9000):
    return plan_fixed_sequence(
        rows, error_prob=error_prob, confidence=0.95, episodes=episodes
    )


@pytest.mark.parametrize("plan", [ladder, fixed_sequence])
def test_the_ladder_starts_at_the_cheapest_clear_pass_and_stops_before_no_hope(plan):
    accuracies = [0.99, 0.97, 0.95, 0.925, 0.91, 0.906, 0.88, 0.5]
    rows = [row(price + 1.0, p) for price, p in enumerate(accuracies)]
    assert plan(rows) == (4.0, 5.0, 6.0)


@pytest.mark.parametrize("plan", [ladder, fixed_sequence])
def test_without_a_clear_pass_the_ladder_starts_where_passing_is_likeliest(plan):
    rows = [row(1.0, 0.5), row(2.0, 0.8), row(3.0, 0.7)]
    assert plan(rows) == (2.0,)


@pytest.mark.parametrize("plan", [ladder, fixed_sequence])
def test_larger_prices_that_are_not_cheaper_are_left_out(plan):
    rows = [row(1.0, 1.0, cost=3), row(2.0, 1.0, cost=3), row(3.0, 0.91, cost=3)]
    assert plan(rows) == (1.0,)
    rows = [row(1.0, 1.0, cost=3), row(2.0, 0.91, cost=4), row(3.0, 0.91, cost=2)]
    assert plan(rows) == (1.0, 3.0)


def test_a_long_ladder_is_thinned_between_its_ends():
    # One clear pass, and many prices that calibration cannot tell from the boundary.
    rows = [row(1.0, 0.93)] + [row(2.0 + i / 8, 0.906) for i in range(40)]
    whole, kept = fixed_sequence(rows), ladder(rows)
    assert len(whole) == 41
    assert len(kept) == MOST_PRICES
    assert (kept[0], kept[-1]) == (whole[0], whole[-1])
    gaps = np.diff([whole.index(price) for price in kept])
    assert set(gaps) <= {5, 6}


@pytest.mark.parametrize("critical", [0, 5, 11])
def test_the_chance_of_passing_is_that_of_the_predictive_law(critical):
    """Against the Beta-binomial law; 32 nodes are accurate to a percent."""
    found = chance_of_passing(np.array(30), np.array(40), critical, 10)
    exact = stats.betabinom.sf(critical - 1, 10, 30.5, 10.5)
    assert found == pytest.approx(exact, abs=0.01)


def test_too_few_episodes_are_refused_with_the_number_that_is_needed():
    check_episodes(535, 0.01, 0.05)
    with pytest.raises(InvalidParameterError, match=r"at least \d+ .* got 100"):
        check_episodes(100, 0.01, 0.05)
