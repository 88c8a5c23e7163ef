"""Explorers at equal accuracy: what each pays, and what the first one saves.

A request for an error probability compares unlike things, since most methods err less
than asked. Here each is moved along its own curve, by the price, the threshold of its
posterior or the scale of its evidence, to the accuracy asked for. All play the same
episodes, so that the intervals are those of paired differences.
"""

import dataclasses
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule
from icpe.artifact.serving import Contender
from icpe.core.checks import check_num_episodes
from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.compare import (
    CostAtAccuracy,
    CurvePoint,
    cost_at_accuracy,
    cost_interval,
    ratio_of_costs,
)
from icpe.evaluate.thresholds import play_thresholds
from icpe.explorers.rules.belief_explorer import (
    BeliefExplorer,
    DoubtStopping,
    PosteriorStopping,
)
from icpe.play.rollout import run_episodes

Interval = tuple[float, float]

_SMALLEST_SCALE = 0.01
_NUM_BISECTIONS = 6


@dataclasses.dataclass(frozen=True)
class AtAccuracy:
    """One explorer at the accuracy asked for.

    Attributes:
        explorer: its name.
        mean_cost: of an episode; the number of queries where each costs 1. None if it
            is never so accurate.
        mean_cost_interval: 95 % interval.
        saving: the share of this explorer's cost that the first one saves, negative
            if it costs more; None for the first itself.
        saving_interval: 95 % interval, from paired episodes.
        highest_accuracy: the highest that was reached where the one asked for was not;
            None where it was.
    """

    explorer: str
    mean_cost: float | None
    mean_cost_interval: Interval | None
    saving: float | None
    saving_interval: Interval | None
    highest_accuracy: float | None = None


def compare_at_accuracy(
    explorers: Mapping[str, Contender],
    family: AbstractTaskFamily,
    accuracy: float,
    *,
    episodes: int = 10_000,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> list[AtAccuracy]:
    """What each explorer pays for an accuracy, and what the first saves.

    Args:
        explorers: explorers by name; the first is compared with the others.
        family: where the tasks come from.
        accuracy: at which they are compared.
        episodes: number of episodes, the same for all.
        seed: of tasks, noise and the explorers' own randomness.
        progress: receives every finished explorer.

    Raises:
        InvalidParameterError: the accuracy does not lie strictly between 0 and 1.
        UnsupportedError: an explorer has no curve.
    """
    check_num_episodes("episodes", episodes, 2)
    if not 0.0 < accuracy < 1.0:
        raise InvalidParameterError(
            f"accuracy must lie strictly between 0 and 1; got {accuracy}."
        )
    progress = progress or NoProgress()
    costs, highest = {}, {}
    for name, contender in explorers.items():
        progress.start(name, 1)
        try:
            points = _around(name, contender, family, accuracy, episodes, seed)
            costs[name] = cost_at_accuracy(points, accuracy)
            highest[name] = max(float(point.accuracy) for point in points)
            progress.advance(1)
        finally:
            progress.finish()
    first, *_ = costs
    most = family.spec.horizon * max(family.spec.costs or (1.0,))
    return [
        _row(name, cost, costs[first], name == first, most)
        if cost is not None
        else AtAccuracy(name, None, None, None, None, highest[name])
        for name, cost in costs.items()
    ]


def _row(
    name: str,
    cost: CostAtAccuracy,
    first: CostAtAccuracy | None,
    is_first: bool,
    most: float,
) -> AtAccuracy:
    """Compares with the first; an episode costs at most so much."""
    interval = cost_interval(cost, most)
    if is_first or first is None:
        return AtAccuracy(name, cost.cost, interval, None, None)
    ratio = ratio_of_costs(first, cost)
    saving = (1.0 - float(ratio.high), 1.0 - float(ratio.low))
    return AtAccuracy(name, cost.cost, interval, 1.0 - ratio.value, saving)


def _around(
    name: str,
    contender: Contender,
    family: AbstractTaskFamily,
    accuracy: float,
    episodes: int,
    seed: int,
) -> list[CurvePoint]:
    """Operating points of an explorer on both sides of an accuracy."""
    if isinstance(contender, Artifact):
        if not isinstance(contender.nets, SavedRule):
            return PricePoints(contender, episodes, seed, family).around(accuracy)
        contender = contender.nets.explorer
    if isinstance(contender, BeliefExplorer) and isinstance(
        contender.stopping, PosteriorStopping | DoubtStopping
    ):
        played = play_thresholds(contender, family, episodes, seed=seed)
        return played.around(accuracy)
    if not _scales(contender):
        raise UnsupportedError(
            f"Explorer {name!r} has neither prices nor a threshold that could be "
            "moved to an accuracy; compare it by `icpe evaluate`."
        )
    return scaled_points(contender, family, accuracy, episodes, seed)


class PricePoints:
    """Operating points of a trained explorer on given episodes, each played once."""

    def __init__(
        self,
        artifact: Artifact,
        episodes: int,
        seed: int,
        family: AbstractTaskFamily | None = None,
    ):
        self._artifact, self._episodes, self._seed = artifact, episodes, seed
        self._family = family or artifact.family
        self._points: dict[float, CurvePoint] = {}

    def around(self, accuracy: float) -> list[CurvePoint]:
        """Neighboring prices of the table between which the accuracy lies.

        The table says where to begin; these episodes, not its own, decide.
        """
        table = self._artifact.table
        if table is None:
            raise UnsupportedError(
                "The trained explorer has no operating table, and so no prices to "
                "compare it at; run `icpe calibrate` on its file."
            )
        rows = [(row.price, row.accuracy) for row in table.priced() if row.price]
        rows = sorted(rows, reverse=True)
        prices = [price for price, _ in rows]
        enough = [i for i, (_, measured) in enumerate(rows) if measured >= accuracy]
        high = enough[0] if enough else len(rows) - 1
        while self._at(prices[high]).accuracy < accuracy and high + 1 < len(rows):
            high += 1
        low = max(high - 1, 0)
        while self._at(prices[low]).accuracy >= accuracy and low > 0:
            low -= 1
        return [self._at(price) for price in prices[low : high + 1]]

    def _at(self, price: float) -> CurvePoint:
        if price not in self._points:
            self._points[price] = self.point(price=price)
        return self._points[price]

    def point(
        self, *, price: float | None = None, budget: int | None = None
    ) -> CurvePoint:
        """One operating point; all run one program."""
        point = OperatingPoint.at(self._family.spec.horizon, price=price, budget=budget)
        point = dataclasses.replace(point, regime=Regime.MIXED)
        explorer = self._artifact.explorer
        return _played(explorer, self._family, point, self._episodes, self._seed)


def scaled_points(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    accuracy: float,
    episodes: int,
    seed: int,
) -> list[CurvePoint]:
    """Two scales of the threshold between which the accuracy lies, by bisection."""
    point = OperatingPoint.at(family.spec.horizon, error_prob=1.0 - accuracy)

    def at(scale: float) -> CurvePoint:
        return _played(with_scale(explorer, scale), family, point, episodes, seed)

    low, high = _SMALLEST_SCALE, 1.0
    below, above = at(low), at(high)
    if above.accuracy < accuracy:
        return [above]
    for _ in range(_NUM_BISECTIONS):
        middle = float(np.sqrt(low * high))
        found = at(middle)
        if found.accuracy >= accuracy:
            high, above = middle, found
        else:
            low, below = middle, found
    return [below, above]


def with_scale(explorer: AbstractExplorer, scale: float) -> AbstractExplorer:
    """The explorer with its stopping threshold multiplied by another number."""

    def change(path, leaf):
        return jnp.asarray(scale, jnp.float32) if _is_scale(path) else leaf

    return jax.tree_util.tree_map_with_path(change, explorer)


def _scales(explorer: AbstractExplorer) -> bool:
    leaves = jax.tree_util.tree_leaves_with_path(explorer)
    return any(_is_scale(path) for path, _ in leaves)


def _is_scale(path) -> bool:
    return bool(path) and getattr(path[-1], "name", None) == "scale"


def _played(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    point: OperatingPoint,
    episodes: int,
    seed: int,
) -> CurvePoint:
    ending = run_episodes(explorer, family, point, episodes, key=jr.key(seed))
    return CurvePoint(np.asarray(ending.correct), np.asarray(ending.cost, float))
