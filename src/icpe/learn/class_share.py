"""Whether it pays to learn about the class of a task beside its hypothesis.

Where several classes share a hypothesis, as the abilities within a band of an adaptive
test do, a greedy rule that wants the hypothesis alone neglects what would help it to
ask better questions later. What else is unknown may also be of no use at all. So both
rules are played, each stopped as well as it can be, and the cheaper one is kept.
"""

import dataclasses

import jax
import numpy as np

from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import PriceRange
from icpe.learn.worth import fit_worth, values_of_stops
from icpe.nets.predictions import Predictions

CLASS_SHARE = 0.3
"""Shares from 0.1 to 0.5 were equally good where any was."""
_UPDATES = 500
_NUM_PRICES = 8


@dataclasses.dataclass(frozen=True)
class Tried:
    """Tables, and episodes of the greedy rule with them, which never stopped."""

    tables: Predictions
    history: History


def saved_by(
    other: Tried, first: Tried, spec: TaskSpec, prices: tuple[float, float]
) -> float:
    """The share of the first one's cost that another saves at equal value.

    The mean over prices. When to stop is learned from half of the episodes, and judged
    on the other half; both have the same tasks.
    """
    at = tuple(map(float, np.geomspace(*prices, _NUM_PRICES)))
    (worth, _), (value, cost) = (
        _values(it, spec, PriceRange(*prices), at) for it in (other, first)
    )
    least = spec.mean_cost
    saved = (np.array(worth) - value) / np.array(at) / np.maximum(cost, least)
    return float(saved.mean())


def _values(
    tried: Tried, spec: TaskSpec, prices: PriceRange, at: tuple[float, ...]
) -> tuple[list[float], list[float]]:
    half = tried.history.queries.shape[0] // 2
    learned = jax.tree.map(lambda leaf: leaf[:half], tried.history)
    fresh = jax.tree.map(lambda leaf: leaf[half:], tried.history)
    head = fit_worth(spec, tried.tables, learned, prices, _UPDATES)
    return values_of_stops(head, spec, tried.tables, fresh, at)
