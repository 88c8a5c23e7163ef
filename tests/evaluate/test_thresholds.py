"""A rule at every threshold is the rule that stops there, on the same episodes."""

import dataclasses

import numpy as np
import pytest

from icpe.evaluate import evaluate
from icpe.evaluate.compare import cost_at_accuracy
from icpe.evaluate.thresholds import ThresholdEpisodes, play_thresholds
from icpe.explorers import make_explorer
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.families import NoisyBinarySearch, RandomTests

EPISODES = 256
SEARCH = NoisyBinarySearch(size=5, noise=0.1, horizon=8)
COSTLY = RandomTests(num_conditions=4, num_tests=6, num_results=3, max_cost=4)


def greedy(family):
    rule = make_explorer("information-gain", family)
    assert isinstance(rule, BeliefExplorer)
    return rule


@pytest.mark.parametrize(
    "family", [SEARCH, COSTLY], ids=["repeated", "once and with costs"]
)
def test_stopping_afterwards_is_stopping(family):
    played = play_thresholds(greedy(family), family, EPISODES, seed=3)
    for error_prob in (0.3, 0.1, 0.02):
        (report,) = evaluate(
            {"information-gain": greedy(family)},
            family,
            error_prob=error_prob,
            episodes=EPISODES,
            seed=3,
        )
        point = played.stopped_at(1.0 - error_prob)
        assert point.accuracy == pytest.approx(report.accuracy, abs=1e-9)
        assert point.mean_cost == pytest.approx(report.mean_cost, rel=1e-6)


def test_each_position_has_the_posterior_and_the_cost_so_far():
    played = play_thresholds(greedy(COSTLY), COSTLY, EPISODES)
    assert played.sure.shape == (EPISODES, COSTLY.spec.horizon + 1)
    np.testing.assert_allclose(played.sure[:, 0], 0.25, rtol=1e-5)
    assert (played.paid[:, 0] == 0).all()
    assert (np.diff(played.paid, axis=1) >= 1).all()
    np.testing.assert_allclose(played.paid[:, -1], sum(COSTLY.spec.costs))
    # A posterior means what it says: 256 x 7 positions, correlated in an episode, so
    # the standard error is at most 0.5 / 16; five of them.
    assert played.right.mean() == pytest.approx(played.sure.mean(), abs=5 * 0.5 / 16)


def random_episodes(seed=0):
    random = np.random.default_rng(seed)
    sure = random.random((50, 6))
    paid = np.concatenate([np.zeros((50, 1)), random.random((50, 5))], axis=1)
    right = random.random((50, 6)) < sure
    return ThresholdEpisodes(sure, right, paid.cumsum(axis=1), np.full(50, 5))


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9, 1.0])
def test_an_episode_stops_as_soon_as_it_is_sure_enough_or_at_the_end(threshold):
    played = random_episodes()
    point = played.stopped_at(threshold)
    for i in range(50):
        step = next((t for t in range(6) if played.sure[i, t] >= threshold), 5)
        assert point.correct[i] == played.right[i, step]
        assert point.cost[i] == played.paid[i, step]


def test_an_accuracy_lies_between_two_neighboring_thresholds():
    played = play_thresholds(greedy(SEARCH), SEARCH, EPISODES)
    low, high = played.stopped_at(0.0).accuracy, played.stopped_at(1.0).accuracy
    for accuracy in np.linspace(low + 0.01, high, 5):
        below, above = played.around(accuracy)
        assert below.accuracy < accuracy <= above.accuracy


def test_an_accuracy_out_of_reach_has_the_most_accurate_point_alone():
    played = play_thresholds(greedy(SEARCH), SEARCH, EPISODES)
    (best,) = played.around(1.0 + 1e-9)
    assert best.accuracy == played.stopped_at(1.0).accuracy


def test_the_expected_cost_is_that_of_the_threshold_where_posteriors_average_to_it():
    played = random_episodes()
    played = dataclasses.replace(played, sure=np.sort(played.sure, axis=1))
    for threshold in (0.5, 0.7, 0.8):
        stop = played.stops(threshold)
        rows = np.arange(50)
        accuracy = played.sure[rows, stop].mean()
        cost = played.expected_cost(accuracy)
        assert cost == pytest.approx(played.paid[rows, stop].mean(), rel=1e-3)
    assert played.expected_cost(0.0) == pytest.approx(0.0)
    assert played.expected_cost(0.9999) is None


def test_close_rules_are_told_apart_by_few_episodes():
    """The noise of right and wrong answers is gone: halves of the episodes agree."""
    played = play_thresholds(greedy(SEARCH), SEARCH, 4 * EPISODES)
    costs, noisy = [], []
    for part in np.split(np.arange(4 * EPISODES), 8):
        own = ThresholdEpisodes(
            played.sure[part],
            played.right[part],
            played.paid[part],
            played.length[part],
        )
        cost = own.expected_cost(0.9)
        found = cost_at_accuracy(own.around(0.9), 0.9)
        assert cost is not None and found is not None
        costs.append(cost)
        noisy.append(found.cost)
    assert np.mean(costs) == pytest.approx(np.mean(noisy), abs=4 * float(np.std(noisy)))
    assert np.std(costs) < 0.7 * np.std(noisy)
