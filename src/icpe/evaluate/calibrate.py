"""The operating table: what a trained explorer does at each price and budget."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.artifact.saved_rule import SavedRule
from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.checks import check_num_episodes
from icpe.core.engine import LocalEngine, chosen_engine, in_order
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.metrics import Tally
from icpe.evaluate.rule_table import QUANTILES, rule_row
from icpe.evaluate.thresholds import play_thresholds
from icpe.play.rollout import (
    default_chunk_size,
    rollout_chunks,
    run_cases,
    spread_cases,
)
from icpe.theory.intervals import clopper_pearson_lower

NUM_PRICES = 64
NUM_DOUBTS = 128
"""Of a rule, all measured on one set of episodes."""
_NUM_BUDGETS = 12
_STREAM = 0x0C0FFEE
"""Folded into the seed, so that calibration never shares episodes with judgment."""


def check_can_be_calibrated(family: AbstractTaskFamily) -> None:
    """Refuses families made of data that has no cases to calibrate on.

    Raises:
        UnsupportedError: all cases were either learned from or kept for certificates.
    """
    if family.held_out_cases() is not None and family.calibration_cases() is None:
        raise UnsupportedError(
            "An explorer of a table is measured when it is made, on rows that were "
            "left out; cases drawn from the rows would flatter it, so make it with "
            "icpe train-table."
        )


def calibrate(
    artifact: Artifact,
    *,
    episodes: int = 4096,
    seed: int = 0,
    max_queries: Sequence[int] = (),
    progress: AbstractProgress | None = None,
) -> OperatingTable:
    """Measures accuracy and queries on log-spaced prices and a grid of budgets.

    All rows use the same episodes, so that they differ by the price alone.

    Args:
        artifact: the explorer; its present table is not used.
        episodes: episodes for each row; where the family was made of data, at most as
            many as it has cases for calibration, each of which is played once.
        seed: seed of the episodes, which no evaluation or certificate draws.
        max_queries: caps that get priced rows of their own, beside the horizon.
        progress: notified of every row.

    Raises:
        UnsupportedError: the explorer serves one request alone.
    """
    check_num_episodes("episodes", episodes)
    check_can_be_calibrated(artifact.family)
    cases = artifact.family.calibration_cases()
    horizon = artifact.family.spec.horizon
    for cap in max_queries:
        if not 1 <= cap <= horizon:
            raise OperatingPointError(
                f"max_queries must be between 1 and the horizon {horizon}; got {cap}."
            )
    caps = sorted({horizon, *max_queries})
    if isinstance(artifact.nets, SavedRule):
        return _rule_table(artifact, artifact.nets, caps, episodes, seed, progress)
    points = list(_points(artifact, caps))
    progress = progress or NoProgress()
    progress.start("calibrating", len(points))
    measure = _Measurement(artifact, points[0][0], episodes, seed)
    if cases is not None:
        measure = _CaseMeasurement(artifact, spread_cases(cases, episodes), seed)
    rows = []
    try:
        for row in in_order(chosen_engine() or LocalEngine(), measure, points):
            rows.append(row)
            progress.advance(1)
    finally:
        progress.finish()
    return OperatingTable(horizon, seed, tuple(rows))


def _rule_table(
    artifact: Artifact,
    rule: SavedRule,
    caps: Sequence[int],
    episodes: int,
    seed: int,
    progress: AbstractProgress | None,
) -> OperatingTable:
    """All rows of a rule, cut from one set of episodes."""
    horizon = artifact.family.spec.horizon
    played = play_thresholds(
        rule.explorer,
        artifact.family,
        episodes,
        key=calibration_key(seed),
        progress=progress,
    )
    prices = np.geomspace(rule.prices.low, rule.prices.high, NUM_DOUBTS)
    rows = [
        rule_row(played, float(price), cap)
        for cap, price in itertools.product(caps, prices)
    ]
    rows += [rule_row(played, None, budget) for budget in _budget_grid(horizon)]
    return OperatingTable(horizon, seed, tuple(rows))


def _points(
    artifact: Artifact, caps: Sequence[int]
) -> Iterator[tuple[OperatingPoint, float | None]]:
    horizon = artifact.family.spec.horizon
    prices = artifact.prices
    for cap, price in itertools.product(
        caps, np.geomspace(prices.low, prices.high, NUM_PRICES)
    ):
        point = artifact.operating_point(price=float(price), max_queries=cap)
        yield _mixed(point), float(price)
    for budget in _budget_grid(horizon):
        yield _mixed(artifact.operating_point(budget=budget)), None


def _mixed(point: OperatingPoint) -> OperatingPoint:
    """The same request in the regime MIXED, so that all rows run one program."""
    return dataclasses.replace(point, regime=Regime.MIXED)


def _budget_grid(horizon: int) -> list[int]:
    grid = np.geomspace(1, horizon, _NUM_BUDGETS).round().astype(int)
    round_numbers = [n for n in (5, 10, 20, 30, 50, 100) if n <= horizon]
    return sorted({*map(int, grid), *round_numbers})


def calibration_key(seed: int) -> PRNGKey:
    """The key of the episodes of calibration."""
    return jr.fold_in(jr.key(seed), _STREAM)


class _Measurement:
    """Measures rows on the same episodes, by one program; on any machine."""

    def __init__(
        self, artifact: Artifact, like: OperatingPoint, episodes: int, seed: int
    ):
        self._explorer, self._family = artifact.explorer, artifact.family
        self._episodes = episodes
        self._seed = seed
        self._chunk_size = default_chunk_size(self._explorer, self._family, like)

    def __call__(self, asked: tuple[OperatingPoint, float | None]) -> OperatingRow:
        point, price = asked
        horizon = self._family.spec.horizon
        chunks = rollout_chunks(
            self._explorer,
            self._family,
            point,
            self._episodes,
            key=calibration_key(self._seed),
            chunk_size=self._chunk_size,
        )
        first, *others = [Tally.of(chunk.ending, horizon) for chunk in chunks]
        return _row(point, price, sum(others, start=first))


class _CaseMeasurement:
    """Measures rows on real cases, each played once."""

    def __init__(self, artifact: Artifact, cases: PyTree, seed: int):
        self._explorer, self._family = artifact.explorer, artifact.family
        self._cases, self._key = cases, calibration_key(seed)

    def __call__(self, asked: tuple[OperatingPoint, float | None]) -> OperatingRow:
        point, price = asked
        ending = run_cases(
            self._explorer, self._family, point, self._cases, key=self._key
        )
        return _row(point, price, Tally.of(ending, self._family.spec.horizon))


def _row(point: OperatingPoint, price: float | None, tally: Tally) -> OperatingRow:
    correct, episodes = tally.num_correct, tally.episodes
    half, most, nearly_all = map(tally.quantile, QUANTILES)
    return OperatingRow(
        price=price,
        max_queries=int(point.max_queries),
        episodes=episodes,
        accuracy=tally.accuracy,
        lower_bound=float(clopper_pearson_lower(correct, episodes)),
        mean_queries=tally.mean_queries,
        quantiles=(half, most, nearly_all),
        longest=tally.max_queries,
        mean_cost=tally.total_cost / episodes,
    )
