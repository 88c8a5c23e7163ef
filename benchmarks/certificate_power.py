"""How likely an explorer that deserves a certificate gets one, by betting and before.

    python benchmarks/certificate_power.py

One price, whose accuracy is a margin above 1 - error_prob, at confidence 0.95. `exact`
is the binomial test at the full level on n episodes, as certificates were made before;
the rest is betting at the first attempt, one of one price or one of eight, watched in
blocks until n, 2 n and 4 n episodes. Then how often certificates are false, for
explorers that err with probability error_prob at every price.
"""

import numpy as np

from icpe.evaluate.ladder import (
    LIMIT_FACTOR,
    MARGIN,
    MOST_PRICES,
    default_episodes,
    price_level,
)
from icpe.theory.betting import fewest_successes
from icpe.theory.fixed_sequence import critical_successes, pass_probability

CONFIDENCE = 0.95
EXPLORERS = 4000
LOOKS = 160
"""Looks at each price until its limit."""


def passing_times(
    rng: np.random.Generator, error_prob: float, accuracy: float, level: float
) -> np.ndarray:
    """At which look each explorer passes by betting, `LOOKS` if at none."""
    block = LIMIT_FACTOR * default_episodes(error_prob, CONFIDENCE) // LOOKS
    counts = np.cumsum(rng.binomial(block, accuracy, (EXPLORERS, LOOKS)), axis=1)
    needed = [
        fewest_successes(block * look, probability=1 - error_prob, level=level)
        for look in range(1, LOOKS + 1)
    ]
    passed = counts >= np.array(needed)
    return np.where(passed.any(axis=1), passed.argmax(axis=1), LOOKS)


def power_row(rng: np.random.Generator, error_prob: float, factor: float) -> str:
    """One row of the table: a margin, and how often it is shown."""
    number = default_episodes(error_prob, CONFIDENCE)
    accuracy = 1 - error_prob + factor * min(MARGIN, error_prob / 2)
    critical = critical_successes(number, 1 - error_prob, CONFIDENCE)
    cells = [f"{pass_probability(number, critical, accuracy):.2f}"]
    for num_prices in (1, MOST_PRICES):
        level = price_level(CONFIDENCE, 1, num_prices)
        times = passing_times(rng, error_prob, accuracy, level)
        cells += [
            f"{np.mean(times < LOOKS * share // LIMIT_FACTOR):.2f}"
            for share in (1, 2, LIMIT_FACTOR)
        ]
        played = np.minimum(times + 1, LOOKS) * LIMIT_FACTOR / LOOKS
        cells.append(f"{played.mean():.2f} n")
    return f"| {error_prob:g} | {number} | {accuracy:.4f} | {' | '.join(cells)} |"


def false_certificates(rng: np.random.Generator, attempts: int) -> int:
    """How many explorers at the boundary pass at any price of any attempt."""
    wrong = np.zeros(EXPLORERS, bool)
    for attempt in range(1, attempts + 1):
        level = price_level(CONFIDENCE, attempt, MOST_PRICES)
        for _ in range(MOST_PRICES):
            wrong |= passing_times(rng, 0.1, 0.9, level) < LOOKS
    return int(wrong.sum())


def main() -> None:
    """Prints the table of power, and how many certificates are false."""
    rng = np.random.default_rng(0)
    one = "one price: n | 2 n | 4 n | played"
    eight = "eight: n | 2 n | 4 n | played"
    print(f"| error_prob | n | accuracy | exact, n | {one} | {eight} |")
    print("|" + "---|" * 12)
    for error_prob in (0.1, 0.01):
        for factor in (0.5, 1.0, 1.5, 2.0):
            print(power_row(rng, error_prob, factor))
    for attempts in (1, 3):
        wrong = false_certificates(rng, attempts)
        print(f"false certificates, {attempts} attempts: {wrong} of {EXPLORERS}")


if __name__ == "__main__":
    main()
