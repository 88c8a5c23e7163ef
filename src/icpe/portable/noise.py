"""Do repeats of one setting scatter as the noise says that was told?

With normal noise the squared distances of repeats to their mean, in units of the noise,
add up to a chi-square with one degree of freedom less than there are repeats. Their
mean over k degrees exceeds x > 1, or falls below x < 1, with probability at most
(x exp(1 - x))^(k / 2) (Chernoff's bound). By that bound one session in two hundred is
allowed an alarm, a share 1 / (k (k + 1)) of these at each k, one half on each side; it
is far from tight. Settings are repeated because they look good, which it leaves out. So
how rare alarms are in the family's own sessions is measured (`benchmarks/guards.py`).
"""

import itertools
import math
from collections.abc import Iterable

import numpy as np

FALSE_ALARMS = 5e-3
_MOST_DECIMALS = 16
_LEAST_RATIO = 1e-4
"""Repeats that are all the same are no stranger than a hundredth of the noise."""


def scatter(answers: Iterable[tuple[int, float]]) -> tuple[int, float]:
    """Degrees of freedom and squared distances of repeats to the mean of their query.

    Args:
        answers: queries and the number that each gave.
    """
    by_query: dict[int, list[float]] = {}
    for query, value in answers:
        by_query.setdefault(query, []).append(value)
    degrees = sum(len(values) - 1 for values in by_query.values())
    means = {query: sum(it) / len(it) for query, it in by_query.items()}
    squares = sum(
        (value - means[query]) ** 2 for query, it in by_query.items() for value in it
    )
    return degrees, squares


def resolution(values: Iterable[float]) -> float:
    """How finely numbers were read: by their decimals, and by how close they come."""
    ordered = sorted(values)
    digits = max(map(_decimals, ordered))
    apart = [b - a for a, b in itertools.pairwise(ordered) if b > a]
    return max(10.0**-digits, min(apart, default=0.0))


def _decimals(value: float) -> int:
    return next((n for n in range(_MOST_DECIMALS) if round(value, n) == value), 99)


def is_strange(degrees, squares, least, most, rounded=0.0):
    """Whether repeats scatter less than the least noise, or more than the most.

    Args:
        degrees: of freedom; numbers or arrays.
        squares: of the distances, likewise.
        least: smallest noise that they may have.
        most: largest noise; the same if it is known.
        rounded: to what they were rounded. Rounded repeats are often the same.
    """
    k = np.maximum(degrees, 1)
    mean = np.asarray(squares, float) / k
    below = (mean + 0.5 * rounded**2) / least**2
    below = np.maximum(np.minimum(below, 1.0), _LEAST_RATIO)
    above = np.maximum(mean / most**2, 1.0)
    evidence = (
        0.5 * k * np.maximum(below - 1.0 - np.log(below), above - 1.0 - np.log(above))
    )
    enough = np.log(2.0 * k * (k + 1.0) / FALSE_ALARMS)
    return (np.asarray(degrees) > 0) & (evidence > enough)


def as_noise(degrees: int, squares: float) -> float:
    """The noise that repeats look like."""
    return math.sqrt(squares / degrees)
