"""Explorers moved to one accuracy along their own curves."""

import pytest

from icpe import zoo
from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.evaluate import evaluate
from icpe.evaluate.equal_accuracy import (
    PricePoints,
    compare_at_accuracy,
    with_scale,
)
from icpe.evaluate.thresholds import play_thresholds
from icpe.explorers import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.families import BinarySearch, GaussianBandit, NoisyBinarySearch

EPISODES = 400
BANDIT = GaussianBandit(num_arms=3, horizon=40)
SEARCH = NoisyBinarySearch(size=5, noise=0.1, horizon=8)


def test_an_explorer_saves_nothing_against_itself():
    twins = {name: make_explorer("uniform", SEARCH) for name in ("one", "other")}
    one, other = compare_at_accuracy(twins, SEARCH, 0.9, episodes=EPISODES)
    assert (one.saving, one.saving_interval) == (None, None)
    assert other.saving == pytest.approx(0.0, abs=1e-12)
    assert other.saving_interval == pytest.approx((0.0, 0.0), abs=1e-12)
    assert one.mean_cost == other.mean_cost


def test_the_cost_lies_between_those_of_two_thresholds_with_the_accuracy_between():
    rule = make_explorer("information-gain", SEARCH)
    assert isinstance(rule, BeliefExplorer)
    (row,) = compare_at_accuracy({"greedy": rule}, SEARCH, 0.9, episodes=EPISODES)
    below, above = play_thresholds(rule, SEARCH, EPISODES).around(0.9)
    assert below.accuracy < 0.9 <= above.accuracy
    assert row.mean_cost is not None and row.mean_cost_interval is not None
    assert below.mean_cost <= row.mean_cost <= above.mean_cost
    low, high = row.mean_cost_interval
    assert low < row.mean_cost < high


@pytest.mark.parametrize("name", ["track-and-stop", "lucb"])
def test_classical_methods_have_a_curve_down_to_low_accuracies(name):
    explorer = make_explorer(name, BANDIT)
    (asked,) = evaluate({name: explorer}, BANDIT, error_prob=0.1, episodes=EPISODES)
    (row,) = compare_at_accuracy({name: explorer}, BANDIT, 0.9, episodes=EPISODES)
    # As asked it is right more often than it has to be, and pays for that.
    assert asked.accuracy > 0.95
    assert row.mean_cost is not None and row.mean_cost < 0.7 * asked.mean_cost


def test_a_scale_that_is_set_later_is_the_same():
    point = {"error_prob": 0.1, "episodes": 100}
    for name in ("track-and-stop", "lucb"):
        made = make_explorer(name, BANDIT, scale=0.3)
        changed = with_scale(make_explorer(name, BANDIT), 0.3)
        one, same = evaluate({"made": made, "changed": changed}, BANDIT, **point)
        assert (one.accuracy, one.mean_queries) == (same.accuracy, same.mean_queries)


def test_a_method_that_is_never_so_accurate_has_no_cost():
    rules = {name: make_explorer(name, SEARCH) for name in ("uniform", "top-two")}
    rows = compare_at_accuracy(rules, SEARCH, 0.99999, episodes=EPISODES)
    assert all(row.mean_cost is None and row.saving is None for row in rows)


def test_what_cannot_be_compared_is_refused():
    exact = {"exact": make_explorer("exact-binary-search", BinarySearch())}
    with pytest.raises(UnsupportedError, match="neither prices nor a threshold"):
        compare_at_accuracy(exact, BinarySearch(), 0.9)
    with pytest.raises(InvalidParameterError, match="accuracy must lie strictly"):
        compare_at_accuracy(exact, BinarySearch(), 1.0)


@pytest.mark.slow
def test_a_trained_explorer_is_played_at_prices_around_the_accuracy():
    """The table was measured on other episodes and may be off."""
    artifact = zoo.load("noisy-binary-search-8")
    points = PricePoints(artifact, EPISODES, 5).around(0.95)
    accuracies = [point.accuracy for point in points]
    assert min(accuracies) < 0.95 <= max(accuracies)


@pytest.mark.slow
def test_the_interval_covers_the_cost_of_many_episodes():
    rule = {"greedy": make_explorer("information-gain", SEARCH)}
    (truth,) = compare_at_accuracy(rule, SEARCH, 0.9, episodes=20_000, seed=99)
    assert truth.mean_cost is not None
    misses = 0
    for seed in range(10):
        (row,) = compare_at_accuracy(rule, SEARCH, 0.9, episodes=EPISODES, seed=seed)
        assert row.mean_cost_interval is not None
        low, high = row.mean_cost_interval
        misses += not low <= truth.mean_cost <= high
    # P(Binomial(10, 0.05) >= 6) < 3e-6.
    assert misses < 6
