"""Certification of stand-ins that are right with known probabilities.

The stand-ins are as bad as they may be: right with probability exactly 1 - error_prob
at every price, so that each certificate is a false one.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from icpe.evaluate.climb import Rung, climb, has_passed
from icpe.evaluate.ladder import MOST_PRICES, default_limit, price_level
from icpe.theory.betting import fewest_successes

EXPLORERS = 4000
MOST_FALSE = 241
"""5 % of 4,000 and three standard deviations: exceeded by chance with 1.7e-3."""
ERROR_PROB = 0.1
LIMIT = default_limit(ERROR_PROB, 0.95)


def ladder(num_prices):
    return tuple(Rung(float(i + 1), 0, 0) for i in range(num_prices))


def player(accuracies, rng, block):
    """Plays stand-ins in blocks: `accuracies` by price."""

    def play(price, first, last):
        while first < last:
            size = min(block, last - first)
            yield int(rng.binomial(size, accuracies[price])), size
            first += size

    return play


def counts_at_looks(rng, num_explorers, num_prices, looks, block, accuracy):
    """Right answers at each look, and episodes: arrays of explorers, prices, looks."""
    shape = (num_explorers, num_prices, looks)
    successes = np.cumsum(rng.binomial(block, accuracy, shape), axis=-1)
    return successes, block * np.arange(1, looks + 1)


def critical(episodes, error_prob, level):
    """Right answers with which the test passes at each look."""
    accuracy = 1 - error_prob
    return np.array(
        [fewest_successes(int(n), probability=accuracy, level=level) for n in episodes]
    )


@pytest.mark.slow
@pytest.mark.parametrize("num_prices", [1, MOST_PRICES])
@pytest.mark.parametrize("attempts", [1, 3])
def test_false_certificates_are_rare_for_one_attempt_and_for_three(
    attempts, num_prices
):
    """Every price is watched until the limit, and so is every attempt's new ladder."""
    rng = np.random.default_rng(attempts)
    wrong = np.zeros(EXPLORERS, bool)
    for attempt in range(1, attempts + 1):
        successes, episodes = counts_at_looks(
            rng, EXPLORERS, num_prices, 160, LIMIT // 160, 1 - ERROR_PROB
        )
        level = price_level(0.95, attempt, num_prices)
        needed = critical(episodes, ERROR_PROB, level)
        wrong |= np.any(successes >= needed, axis=(1, 2))
    assert 0 < wrong.sum() <= MOST_FALSE


@pytest.mark.slow
def test_false_certificates_are_rare_however_often_and_for_whatever_one_asks():
    """Asked again at every look, for 0.1 and for its neighbors, with the same episodes.

    0.1 itself is false by convention (the accuracy does not exceed 0.9), all smaller
    ones are false, and the largest, 0.101, is true: it is no false certificate.
    """
    rng = np.random.default_rng(5)
    successes, episodes = counts_at_looks(
        rng, EXPLORERS, MOST_PRICES, 160, LIMIT // 160, 1 - ERROR_PROB
    )
    level = price_level(0.95, 1, MOST_PRICES)
    wrong = np.zeros(EXPLORERS, bool)
    for asked in (0.1, 0.09999, 0.0999, 0.099, 0.0975, 0.095, 0.09):
        needed = critical(episodes, asked, level)
        wrong |= np.any(successes >= needed, axis=(1, 2))
    assert 0 < wrong.sum() <= MOST_FALSE


@pytest.mark.slow
def test_climbing_again_and_again_certifies_falsely_as_rarely():
    """The code of `icpe certify`: up to twenty calls each, with growing limits."""
    rng = np.random.default_rng(6)
    accuracies = {float(i + 1): 0.5 for i in range(3)}  # an error of 0.5 is quick
    play = player(accuracies, rng, block=16)
    level = price_level(0.95, 1, 3)
    requests = list(
        itertools.product([50, 100, 200, 400, 800], [0.5, 0.499, 0.48, 0.46])
    )
    wrong = 0
    for _ in range(EXPLORERS):
        rungs = ladder(3)
        for limit, error_prob in requests:
            result = climb(rungs, play, error_prob=error_prob, level=level, limit=limit)
            rungs = result.rungs
            if result.certified:
                wrong += 1
                break
    assert 0 < wrong <= MOST_FALSE


def test_an_exact_test_whose_sample_is_extended_twice_is_false_too_often():
    """At the full level each time; the reason for betting instead."""
    rng = np.random.default_rng(7)
    successes, episodes = counts_at_looks(rng, EXPLORERS, 1, 3, 9371, 1 - ERROR_PROB)
    needed = stats.binom.isf(0.05, episodes, 1 - ERROR_PROB) + 1
    extended = np.any(successes[:, 0] >= needed, axis=-1)
    assert extended.sum() > MOST_FALSE


@pytest.mark.parametrize("margin", [0.01, 0.02])
def test_what_deserves_it_is_certified(margin):
    """99 % and more at the margin; 5 or more failures of 100 have chance 4e-3."""
    rng = np.random.default_rng(8)
    accuracies = {float(i + 1): 1 - ERROR_PROB + margin for i in range(MOST_PRICES)}
    level = price_level(0.95, 1, MOST_PRICES)
    certified = sum(
        climb(
            ladder(1),
            player(accuracies, rng, 2048),
            error_prob=ERROR_PROB,
            level=level,
            limit=LIMIT,
        ).certified
        for _ in range(100)
    )
    assert certified >= 95


def test_the_certified_price_is_close_to_the_best_one():
    """Accuracies fall by 0.5 % from price to price; the seventh is at the boundary."""
    rng = np.random.default_rng(2)
    accuracies = {float(i + 1): 0.93 - 0.005 * i for i in range(8)}
    results = [
        climb(
            ladder(8),
            player(accuracies, rng, 2048),
            error_prob=ERROR_PROB,
            level=price_level(0.95, 1, 8),
            limit=LIMIT,
        )
        for _ in range(50)
    ]
    prices = np.array([result.price for result in results])
    # Price 5 is 0.01 above; all before it are certain.
    assert np.mean(prices >= 5) >= 0.85
    assert prices.max() <= 6
    # Clear passes are decided early, and what is hopeless is given up early.
    total = sum(rung.episodes for result in results for rung in result.rungs)
    assert total / 50 < 3 * LIMIT


def test_the_ladder_is_climbed_until_a_price_does_not_pass():
    def play(price, first, last):
        yield (60 if price != 3.0 else 30), 60

    rungs = (
        Rung(1.0, 60, 60),  # has passed already
        Rung(2.0, 0, 0),
        Rung(3.0, 0, 0),
        Rung(4.0, 0, 0),
    )
    result = climb(rungs, play, error_prob=0.2, level=0.01, limit=600)
    assert [rung.passed for rung in result.rungs] == [True, True, False, False]
    assert [rung.episodes for rung in result.rungs] == [60, 60, 60, 0]
    assert (result.certified, result.price) == (True, 2.0)


def test_without_a_pass_the_first_price_is_the_closest():
    result = climb(
        ladder(2), player({1.0: 0.5, 2.0: 0.4}, np.random.default_rng(0), 64),
        error_prob=0.1, level=0.01, limit=640,
    )  # fmt: skip
    assert (result.certified, result.price) == (False, 1.0)
    assert result.rungs[0].episodes == 192  # the first look after a quarter of 640
    assert result.rungs[1].episodes == 0


def test_no_episode_is_played_twice_and_none_beyond_the_limit():
    played = []

    def play(price, first, last):
        for start in range(first, last, 100):
            size = min(100, last - start)
            played.append((start, start + size))
            yield int(0.91 * size), size

    rungs = ladder(1)
    for limit in (250, 250, 730):
        result = climb(rungs, play, error_prob=0.1, level=0.001, limit=limit)
        rungs = result.rungs
    assert played[0][0] == 0
    assert all(a[1] == b[0] for a, b in itertools.pairwise(played))
    assert played[-1][1] <= 730
    assert rungs[0].episodes == played[-1][1]


def test_a_rung_that_has_shown_an_error_probability_has_shown_every_larger_one():
    rung = Rung(1.0, 950, 1000)
    passes = [has_passed(rung, error_prob=p, level=0.003) for p in (0.05, 0.07, 0.1)]
    assert passes == sorted(passes)
    assert passes[0] is False and passes[-1] is True
