"""Two methods at equal accuracy, with an interval for the ratio of their costs.

A method has a curve of operating points: prices, or thresholds of a posterior. Between
two neighbors everything on the line is attained by drawing one of them at random, so
that the cost of a given accuracy is found by interpolation. Both methods play the same
episodes, and the interval is that of a smooth function of paired means (delta method).
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from icpe.theory.intervals import bounded_mean_interval


@dataclasses.dataclass(frozen=True)
class CurvePoint:
    """What happened at one operating point, episode by episode."""

    correct: Bool[np.ndarray, "episodes"]
    cost: Float[np.ndarray, "episodes"]

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return float(self.correct.mean())

    @property
    def mean_cost(self) -> float:
        """Mean cost of an episode."""
        return float(self.cost.mean())


@dataclasses.dataclass(frozen=True)
class CostAtAccuracy:
    """The mean cost at which a method has a given accuracy.

    `influence` is how much each episode moves it, so that its mean is the cost and its
    standard deviation gives the error.
    """

    cost: float
    influence: Float[np.ndarray, "episodes"]


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The ratio of two costs at equal accuracy, with a 95 % interval."""

    value: float
    low: float
    high: float


def cost_at_accuracy(
    points: Sequence[CurvePoint], accuracy: float
) -> CostAtAccuracy | None:
    """Interpolates along a method's curve; None if it is never that accurate.

    The cheapest pair of points is taken of which one is accurate enough and the other
    is not; a single point that is exactly as accurate will do as well.
    """
    best: CostAtAccuracy | None = None
    for above in points:
        if above.accuracy < accuracy:
            continue
        for below in points:
            if below.accuracy >= accuracy or below.mean_cost > above.mean_cost:
                continue
            found = _between(below, above, accuracy)
            if best is None or found.cost < best.cost:
                best = found
    if best is None:
        exact = [point for point in points if point.accuracy >= accuracy]
        if not exact:
            return None
        point = min(exact, key=lambda point: point.mean_cost)
        return CostAtAccuracy(point.mean_cost, point.cost.astype(float))
    return best


def cost_interval(cost: CostAtAccuracy, most: float) -> tuple[float, float]:
    """95 % interval of a cost, where an episode costs at most so much.

    By empirical likelihood, like that of the mean number of queries: a few long
    episodes may carry the mean. What an episode moves may lie somewhat outside the
    possible costs, since it moves the accuracy as well.
    """
    moved, counts = np.unique(cost.influence, return_counts=True)
    low, high = min(0.0, float(moved[0])), max(most, float(moved[-1]))
    ends = bounded_mean_interval(moved, counts=counts, low=low, high=high)
    return float(ends.low), float(ends.high)


def ratio_of_costs(ours: CostAtAccuracy, theirs: CostAtAccuracy) -> Ratio:
    """Ours over theirs, from the same episodes."""
    value = ours.cost / theirs.cost
    moved = (ours.influence - value * theirs.influence) / theirs.cost
    half = float(ndtri(0.975)) * moved.std(ddof=1) / np.sqrt(len(moved))
    return Ratio(value, value - half, value + half)


def _between(below: CurvePoint, above: CurvePoint, accuracy: float) -> CostAtAccuracy:
    rise = above.accuracy - below.accuracy
    share = (accuracy - below.accuracy) / rise
    slope = (above.mean_cost - below.mean_cost) / rise
    mixed_cost = (1 - share) * below.cost + share * above.cost
    mixed_right = (1 - share) * below.correct + share * above.correct
    influence = mixed_cost - slope * (mixed_right - mixed_right.mean())
    return CostAtAccuracy(float(mixed_cost.mean()), influence)
