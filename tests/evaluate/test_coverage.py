"""Intervals that are printed cover what they are about, on the design they are for.

Episodes are drawn from laws like those of explorers: many short ones, some at the
horizon, few errors. Of 2,000 repetitions at least 93.5 % must cover; where the true
coverage is 95 %, fewer do with probability 0.002 each. Ratios at equal accuracy are in
test_compare.py and test_equal_accuracy.py, means over seeds in test_intervals.py.
Those of comparisons are for 2,000 paired episodes or more.
"""

import dataclasses

import numpy as np
import pytest

from icpe.core.episode import StopReason
from icpe.evaluate.compare import (
    CurvePoint,
    cost_at_accuracy,
    cost_interval,
    ratio_of_costs,
)
from icpe.evaluate.metrics import Tally

REPETITIONS = 2000
LEAST = 0.935
HORIZON = 64
STEPS = np.arange(HORIZON + 1)


def law(ratio: float, at_horizon: float) -> np.ndarray:
    """Numbers of queries: geometric from 2 on, with a share at the horizon."""
    chance = np.where(STEPS >= 2, ratio**STEPS, 0.0)
    chance = (1 - at_horizon) * chance / chance.sum()
    chance[-1] += at_horizon
    return chance


LAWS = {
    "short": law(0.6, 0.0),
    "long": law(0.93, 0.0),
    "short with a share at the horizon": law(0.6, 0.01),
    "short with fewer at the horizon": law(0.6, 0.002),
    "all but a few alike": 0.998 * np.eye(HORIZON + 1)[3] + 0.002 * law(0.93, 0.5),
    "all alike": np.eye(HORIZON + 1)[3],
}


def tally(counts, right: int) -> Tally:
    reasons = np.zeros(len(StopReason), int)
    reasons[StopReason.EXPLORER] = counts.sum()
    return Tally(right, counts, reasons, float(counts @ STEPS))


def share_covered(intervals, truth: float) -> float:
    low, high = np.array(intervals).T
    return float(np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high)))


@pytest.mark.parametrize(
    ("name", "episodes"),
    [(name, 500) for name in LAWS] + [("short", 10_000), ("long", 10_000)],
)
def test_mean_queries(name, episodes):
    chance = LAWS[name]
    random = np.random.default_rng(1)
    draws = random.multinomial(episodes, chance, size=REPETITIONS)
    found = [tally(counts, 0).mean_queries_interval for counts in draws]
    assert share_covered(found, float(chance @ STEPS)) >= LEAST


def costs_of_two(random, episodes, at_horizon):
    """Two methods on the same episodes, some of which are long for both."""
    both = random.random(episodes) < at_horizon
    found = []
    for name in ("short", "long"):
        lengths = random.choice(STEPS, episodes, p=LAWS[name])
        alone = random.random(episodes) < at_horizon
        found.append(np.where(both | alone, HORIZON, lengths).astype(float))
    right = np.ones(episodes, bool)
    costs = [cost_at_accuracy([CurvePoint(right, cost)], 0.9) for cost in found]
    assert costs[0] is not None and costs[1] is not None
    return costs[0], costs[1]


@pytest.mark.parametrize("at_horizon", [0.0, 0.001, 0.005])
def test_costs_at_equal_accuracy_with_long_episodes(at_horizon):
    random = np.random.default_rng(4)
    long = 1 - (1 - at_horizon) ** 2
    short = [float(LAWS[name] @ STEPS) for name in ("short", "long")]
    truth = [long * HORIZON + (1 - long) * mean for mean in short]
    costs, ratios = [], []
    for _ in range(REPETITIONS):
        ours, theirs = costs_of_two(random, 2048, at_horizon)
        costs.append(cost_interval(ours, HORIZON))
        ratio = ratio_of_costs(ours, theirs)
        ratios.append((ratio.low, ratio.high))
    assert share_covered(costs, truth[0]) >= LEAST
    assert share_covered(ratios, truth[0] / truth[1]) >= LEAST


@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.99, 0.999])
def test_accuracy(accuracy):
    random = np.random.default_rng(2)
    right = random.binomial(1000, accuracy, size=REPETITIONS)
    counts = np.zeros(HORIZON + 1, int)
    counts[3] = 1000
    found = [tally(counts, int(x)).accuracy_interval for x in right]
    assert share_covered(found, accuracy) >= LEAST


@pytest.mark.parametrize("decided", [0.3, 0.97])
def test_accuracy_among_a_random_number_of_decided_episodes(decided):
    random = np.random.default_rng(3)
    number = random.binomial(1000, decided, size=REPETITIONS)
    right = random.binomial(number, 0.95)
    counts = np.zeros(HORIZON + 1, int)
    counts[3] = 1000
    whole = tally(counts, 900)
    found = [
        dataclasses.replace(whole, decided=(int(x), int(n))).decided_accuracy_interval
        for x, n in zip(right, number, strict=True)
    ]
    assert share_covered(found, 0.95) >= LEAST
