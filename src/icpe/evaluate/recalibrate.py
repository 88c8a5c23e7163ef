"""Recalibrates the belief of an explorer at the times when it would stop by it.

One set of episodes is played to the horizon, with the queries of one price. Each doubt
then is a place where they may be cut.
"""

from collections.abc import Iterator

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.belief_table import BeliefRow, BeliefTable
from icpe.artifact.saved_rule import SMALLEST_DOUBT, SavedRule
from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.checks import check_num_episodes
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.thresholds import ThresholdEpisodes, play_thresholds
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.sure import SureExplorer
from icpe.play.rollout import num_cases, rollout, some_cases, spread_cases

NUM_DOUBTS = 48
_STREAM = 0xBE11EF
_CHUNK = 512
_ACCURATE = 0.95
"""Queries are chosen at the cheapest price that is so accurate on average."""


def recalibrate(
    artifact: Artifact,
    *,
    episodes: int = 4096,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> BeliefTable:
    """Measures how often the explorer is right when it stops at each doubt.

    Args:
        artifact: the explorer, calibrated.
        episodes: number of episodes; of cases, where the family has some for that.
        seed: of the episodes, which nothing else draws.
        progress: notified of every chunk.

    Raises:
        UnsupportedError: it cannot stop by itself, or comes from the paper's learner.
        OperatingPointError: the operating table is missing.
    """
    check_num_episodes("episodes", episodes)
    if not artifact.family.spec.can_stop:
        raise UnsupportedError(
            "Only the tasks of this family end an episode, so no belief can."
        )
    key = jr.fold_in(jr.key(seed), _STREAM)
    progress = progress or NoProgress()
    prices, nets = artifact.prices, artifact.nets
    if isinstance(nets, SavedRule):
        price, family = None, artifact.family
        rule = nets.explorer
        played = play_thresholds(rule, family, episodes, key=key, progress=progress)
        largest = prices.high
    else:
        price = asking_price(artifact)
        played = _play_all(artifact, price, episodes, key, progress)
        largest = 1.0 - 0.99 / artifact.family.spec.num_hypotheses
    doubts = np.geomspace(SMALLEST_DOUBT, max(largest, 2 * SMALLEST_DOUBT), NUM_DOUBTS)
    rows = tuple(_row(played, float(doubt)) for doubt in doubts)
    return BeliefTable(artifact.family.spec.horizon, seed, price, rows)


def asking_price(artifact: Artifact) -> float:
    """The price at which queries are chosen when the belief decides the stop."""
    if artifact.table is None:
        raise OperatingPointError(
            "A belief is recalibrated with the operating table, which this file does "
            "not have yet; make it with icpe calibrate FILE."
        )
    rows = artifact.table.priced()
    enough = [row for row in rows if row.accuracy >= _ACCURATE]
    if not enough:
        enough = [max(rows, key=lambda row: row.accuracy)]
    price = min(enough, key=lambda row: (row.mean_cost, row.price)).price
    assert price is not None
    return price


def _row(played: ThresholdEpisodes, doubt: float) -> BeliefRow:
    stop = played.stops(1.0 - doubt)
    rows = np.arange(len(stop))
    decided = played.sure[rows, stop] >= 1.0 - doubt
    return BeliefRow(
        doubt=doubt,
        episodes=len(stop),
        decided=int(decided.sum()),
        successes=int((decided & played.right[rows, stop]).sum()),
        mean_queries=float(np.minimum(stop, played.length).mean()),
        mean_cost=float(played.paid[rows, stop].mean()),
    )


def _play_all(
    artifact: Artifact,
    price: float,
    episodes: int,
    key: PRNGKey,
    progress: AbstractProgress,
) -> ThresholdEpisodes:
    progress.start("recalibrating the belief", episodes)
    parts = []
    try:
        for part in _chunks(artifact, price, episodes, key):
            parts.append(part)
            progress.advance(len(part[0]))
    finally:
        progress.finish()
    return ThresholdEpisodes(*(np.concatenate(it) for it in zip(*parts, strict=True)))


def _chunks(
    artifact: Artifact, price: float, episodes: int, key: PRNGKey
) -> Iterator[tuple[np.ndarray, ...]]:
    spec = artifact.family.spec
    family, cases = artifact.family.with_data(), artifact.family.calibration_cases()
    if cases is not None:
        cases = spread_cases(cases, episodes)
        episodes = num_cases(cases)
    point = OperatingPoint.at(spec.horizon, price=price)
    costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
    size = min(_CHUNK, episodes)
    for first in range(0, episodes, size):
        tasks = None
        if cases is not None:
            rows = np.minimum(first + np.arange(size), episodes - 1)
            tasks = some_cases(cases, rows)
        found = _play(
            artifact.universal_nets, family, point, jr.fold_in(key, first), size, tasks
        )
        kept = min(size, episodes - first)
        queries, length, sure, right = (np.asarray(it)[:kept] for it in found)
        each = np.where(queries >= 0, costs[np.maximum(queries, 0)], 0.0)
        paid = np.concatenate([np.zeros((kept, 1)), each.cumsum(1)], axis=1)
        past = np.arange(sure.shape[1])[None] > length[:, None]
        last = np.arange(kept), length
        sure = np.where(past, sure[last][:, None], sure)
        right = np.where(past, right[last][:, None], right)
        yield sure, right, paid, length


@jit_program
def _play(
    nets: ExplorerNets,
    family: AbstractTaskFamily,
    point,
    key: PRNGKey,
    size: int,
    tasks: PyTree | None,
):
    """Queries, their number, and at every position the belief and whether it is right.

    The explorer never stops: the doubt of its operating point is 0.
    """
    explorer = SureExplorer(NeuralExplorer(nets.for_play()))
    assert point.regime is Regime.PRICE
    played = rollout(explorer, family, point, keys=jr.split(key, size), tasks=tasks)
    history = played.history
    price = jnp.broadcast_to(point.price, (size,))
    caps = jnp.broadcast_to(point.max_queries, (size,))
    found = nets.along(nets.see(history), price, caps).log_posterior
    right = jnp.argmax(found, axis=2) == played.ending.hypothesis[:, None]
    return history.queries, history.length, jnp.exp(jnp.max(found, axis=2)), right
