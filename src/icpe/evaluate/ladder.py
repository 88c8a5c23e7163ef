"""Which prices a certificate tries, and on how many episodes: fixed before any test.

Both follow from the request and from the operating table, which was measured on
episodes of its own. Whatever they are, they do not touch the error probability of the
tests; they decide how likely an explorer that deserves a certificate gets one, and how
cheap the certified price is.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.special

from icpe.artifact.operating_table import OperatingRow
from icpe.core.errors import InvalidParameterError
from icpe.theory.fixed_sequence import (
    Rung,
    critical_successes,
    fewest_trials,
    fixed_sequence_test,
    trials_needed,
)

MARGIN = 0.01
"""An accuracy this far above 1 - error_prob should pass; half of error_prob if less."""
POWER = 0.95
"""The probability with which it should."""
_CLEAR = 0.99
"""Predicted probability of passing from which on a price is a clear pass."""
_HOPELESS = 0.05
"""Predicted probability below which a price is not worth its episodes."""
_NUM_NODES = 32


class Climb(NamedTuple):
    """The tests made on a ladder, and the price they lead to.

    If nothing is certified, `price` is the closest: the first, which failed.
    """

    rungs: tuple[Rung, ...]
    certified: bool
    price: float


def climb(
    rows: Sequence[OperatingRow],
    successes_at: Callable[[float], int],
    *,
    error_prob: float,
    confidence: float,
    episodes: int,
) -> Climb:
    """Plans a ladder from calibration and tests it from below until a test fails.

    The price is certified falsely, its accuracy being below 1 - error_prob, with
    probability at most 1 - confidence (`fixed_sequence_test`).

    Args:
        rows: the priced rows of an operating table.
        successes_at: plays the test episodes at a price and counts right answers.
        error_prob: the error probability to be certified.
        confidence: one minus the level of the tests.
        episodes: test episodes at each price.
    """
    ladder = plan_ladder(
        rows, error_prob=error_prob, confidence=confidence, episodes=episodes
    )
    rungs = fixed_sequence_test(
        ladder,
        successes_at,
        trials=episodes,
        probability=1.0 - error_prob,
        confidence=confidence,
    )
    passed = [rung for rung in rungs if rung.passed]
    return Climb(rungs, certified=bool(passed), price=(passed or rungs)[-1].label)


def default_episodes(error_prob: float, confidence: float) -> int:
    """Episodes of a test with which an accuracy a margin above 1 - error_prob passes.

    The margin is `MARGIN` or half of error_prob, whichever is less, and the
    probability of passing is at least `POWER`.
    """
    margin = min(MARGIN, error_prob / 2)
    accuracy = 1.0 - error_prob
    number = trials_needed(accuracy + margin, accuracy, confidence, POWER)
    if number is None:
        raise InvalidParameterError(
            f"error_prob={error_prob} is too small to be certified by simulation; "
            "choose a larger one."
        )
    return number


def check_episodes(episodes: int, error_prob: float, confidence: float) -> None:
    """Raises one sentence if not even an explorer that never errs could pass."""
    fewest = fewest_trials(1.0 - error_prob, confidence)
    if episodes < fewest:
        raise InvalidParameterError(
            f"episodes must be at least {fewest} to show an error probability of "
            f"{error_prob:g} with confidence {confidence:g}; got {episodes}."
        )


def plan_ladder(
    rows: Sequence[OperatingRow],
    *,
    error_prob: float,
    confidence: float,
    episodes: int,
) -> tuple[float, ...]:
    """The prices to test, smallest first.

    It starts at the cheapest price that calibration predicts to pass clearly, or, if
    there is none, at the price most likely to pass; it goes on with larger prices,
    each cheaper on average than those before it, that have a fair chance.

    Args:
        rows: the priced rows of an operating table.
        error_prob: the error probability to be certified.
        confidence: one minus the level of the tests.
        episodes: episodes of each test.
    """
    critical = critical_successes(episodes, 1.0 - error_prob, confidence)
    chances = _chances_of_passing(rows, critical, episodes)
    clear = [row for row, chance in zip(rows, chances, strict=True) if chance >= _CLEAR]
    if clear:
        start = min(clear, key=lambda row: (row.mean_cost, row.price))
    else:
        start = rows[int(np.argmax(chances))]
    ladder = [start]
    ascending = sorted(zip(rows, chances, strict=True), key=lambda it: it[0].price or 0)
    for row, chance in ascending:
        larger = _price(row) > _price(start)
        if larger and row.mean_cost < ladder[-1].mean_cost and chance >= _HOPELESS:
            ladder.append(row)
    return tuple(map(_price, ladder))


def _chances_of_passing(
    rows: Sequence[OperatingRow], critical: int, episodes: int
) -> np.ndarray:
    """P(X >= critical) for X ~ Binomial(episodes, p), averaged over what p may be.

    Given the counts of calibration p has a Beta law (Jeffreys' prior); the average is
    over equally likely quantiles of it.
    """
    trials = np.array([row.episodes for row in rows])[:, None]
    successes = np.round(trials * np.array([row.accuracy for row in rows])[:, None])
    nodes = (np.arange(_NUM_NODES) + 0.5) / _NUM_NODES
    accuracies = scipy.special.betaincinv(
        successes + 0.5, trials - successes + 0.5, nodes
    )
    # P(X >= k) of a binomial law is a regularized incomplete beta function.
    passing = scipy.special.betainc(critical, episodes - critical + 1, accuracies)
    return passing.mean(axis=1)


def _price(row: OperatingRow) -> float:
    assert row.price is not None
    return row.price
