"""Which prices a certificate tests: fixed before any test episode.

They follow from the request and from the operating table, which was measured on
episodes of its own. Whatever they are, they do not touch the error probability of the
tests; they decide how likely an explorer that deserves a certificate gets one, and how
cheap the certified price is.
"""

from collections.abc import Sequence

import numpy as np
import scipy.special

from icpe.artifact.operating_table import OperatingRow
from icpe.core.errors import InvalidParameterError
from icpe.theory.betting import fewest_bets, fewest_successes
from icpe.theory.fixed_sequence import critical_successes, trials_needed

MOST_PRICES = 8
"""Prices of a ladder, among which the level is divided."""
MARGIN = 0.01
"""An accuracy this far above 1 - error_prob should pass; half of error_prob if less."""
POWER = 0.95
"""The probability with which it should, in an exact test on `default_episodes`."""
LIMIT_FACTOR = 4
"""Times as many episodes are played at a price before it is given up."""
_CLEAR = 0.99
"""Predicted probability of passing from which on a price is a clear pass."""
HOPELESS = 0.05
"""Predicted probability below which a price is not worth its episodes."""
_NUM_NODES = 32


def default_episodes(error_prob: float, confidence: float) -> int:
    """Episodes with which an accuracy a margin above 1 - error_prob can be shown.

    The exact binomial test on so many passes with probability `POWER`; the margin is
    `MARGIN` or half of error_prob, whichever is less.
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


def default_limit(error_prob: float, confidence: float) -> int:
    """The most episodes at one price, if nobody says otherwise."""
    return LIMIT_FACTOR * default_episodes(error_prob, confidence)


def price_level(confidence: float, attempt: int, num_prices: int) -> float:
    """The level at which each price of the ladder of an attempt is tested.

    Attempt k = 1, 2, .. has level (1 - confidence) / 2^k, divided equally among its
    prices. These add up to less than 1 - confidence however many attempts there are,
    so by the union bound that is how likely any price of any of them is certified
    falsely.
    """
    return (1.0 - confidence) / 2.0**attempt / num_prices


def check_episodes(episodes: int, error_prob: float, level: float) -> None:
    """Raises one sentence if not even an explorer that never errs could pass."""
    fewest = fewest_bets(1.0 - error_prob, level)
    if episodes < fewest:
        raise InvalidParameterError(
            f"episodes must be at least {fewest} to show an error probability of "
            f"{error_prob:g} at level {level:.2g}; got {episodes}."
        )


def plan_ladder(
    rows: Sequence[OperatingRow], *, error_prob: float, confidence: float
) -> tuple[float, ...]:
    """The prices to test, smallest first, at most `MOST_PRICES`.

    It starts at the cheapest price that calibration predicts to pass clearly, or, if
    there is none, at the price most likely to pass; it goes on with larger prices,
    each cheaper on average than those before it, that have a fair chance. Of too many,
    the first, the last and evenly spaced ones in between are kept.

    Args:
        rows: the priced rows of an operating table.
        error_prob: the error probability to be certified.
        confidence: of the certificate.
    """
    episodes = default_limit(error_prob, confidence)
    critical = fewest_successes(
        episodes,
        probability=1.0 - error_prob,
        level=price_level(confidence, 1, MOST_PRICES),
    )
    prices = _promising(rows, critical, episodes)
    number = min(MOST_PRICES, len(prices))
    kept = np.linspace(0, len(prices) - 1, number).round().astype(int)
    return tuple(prices[i] for i in kept)


def plan_cautious_ladder(
    rows: Sequence[OperatingRow], *, error_prob: float, confidence: float
) -> tuple[float, ...]:
    """The prices to test where more is asked than the average, smallest first.

    The operating table knows the average alone. So the ladder goes from the smallest
    price up to the one where the ladder for the average begins.
    """
    first = plan_ladder(rows, error_prob=error_prob, confidence=confidence)[0]
    prices = sorted(_price(row) for row in rows if _price(row) <= first)
    number = min(MOST_PRICES, len(prices))
    kept = np.linspace(0, len(prices) - 1, number).round().astype(int)
    return tuple(prices[i] for i in kept)


def plan_fixed_sequence(
    rows: Sequence[OperatingRow],
    *,
    error_prob: float,
    confidence: float,
    episodes: int,
) -> tuple[float, ...]:
    """The prices of a certificate by exact tests in a fixed sequence, in their order.

    Such certificates are no longer made, but are still checked.
    """
    critical = critical_successes(episodes, 1.0 - error_prob, confidence)
    return tuple(_promising(rows, critical, episodes))


def _promising(
    rows: Sequence[OperatingRow], critical: int, episodes: int
) -> list[float]:
    """The prices from the cheapest clear pass on, as long as there is hope."""
    chances = _chances_of_passing(rows, critical, episodes)
    clear = [row for row, chance in zip(rows, chances, strict=True) if chance >= _CLEAR]
    if clear:
        start = min(clear, key=lambda row: (row.mean_cost, row.price))
    else:
        likeliest = zip(chances, rows, strict=True)
        _, start = max(likeliest, key=lambda it: (it[0], it[1].accuracy))
    ladder = [start]
    ascending = sorted(zip(rows, chances, strict=True), key=lambda it: it[0].price or 0)
    for row, chance in ascending:
        larger = _price(row) > _price(start)
        if larger and row.mean_cost < ladder[-1].mean_cost and chance >= HOPELESS:
            ladder.append(row)
    return [_price(row) for row in ladder]


def _chances_of_passing(
    rows: Sequence[OperatingRow], critical: int, episodes: int
) -> np.ndarray:
    """P(X >= critical) for X ~ Binomial(episodes, p), averaged over what p may be.

    Given the counts of calibration p has a Beta law (Jeffreys' prior); the average is
    over equally likely quantiles of it.
    """
    trials = np.array([row.episodes for row in rows])
    successes = np.round(trials * np.array([row.accuracy for row in rows]))
    return chance_of_passing(successes, trials, critical, episodes)


def chance_of_passing(
    successes: np.ndarray, trials: np.ndarray, critical: int, episodes: int
) -> np.ndarray:
    """P(X >= critical) for X ~ Binomial(episodes, p), p having Jeffreys' posterior."""
    nodes = (np.arange(_NUM_NODES) + 0.5) / _NUM_NODES
    accuracies = scipy.special.betaincinv(
        np.asarray(successes)[..., None] + 0.5,
        np.asarray(trials - successes)[..., None] + 0.5,
        nodes,
    )
    if critical <= 0 or critical > episodes:
        return np.full(np.shape(successes), float(critical <= 0))
    # P(X >= k) of a binomial law is a regularized incomplete beta function.
    passing = scipy.special.betainc(critical, episodes - critical + 1, accuracies)
    return np.asarray(passing.mean(axis=-1))


def _price(row: OperatingRow) -> float:
    assert row.price is not None
    return row.price
