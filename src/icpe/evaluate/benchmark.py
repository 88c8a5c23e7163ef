"""Run explorers on the same fresh tasks and report how well they did."""

import dataclasses
from collections.abc import Mapping, Sequence

import jax.random as jr

from icpe.evaluate.metrics import QUANTILES, Tally
from icpe.evaluate.report import Report, family_record
from icpe.explorers.base import AbstractExplorer
from icpe.progress import AbstractProgress, NoProgress
from icpe.rollout import rollout_chunks
from icpe.tasks.base import AbstractTaskFamily
from icpe.types import OperatingPoint, check_at_least


def evaluate(
    explorers: Mapping[str, AbstractExplorer],
    family: AbstractTaskFamily,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
    price: float | None = None,
    max_queries: int | None = None,
    episodes: int = 10_000,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> list[Report]:
    """Measures each explorer at one operating point, one report each.

    All explorers face the same tasks and the same noise (episode i has the key
    `fold_in(key(seed), i)`), so that their differences are less noisy than their
    levels. Memory does not grow with the number of episodes.

    Args:
        explorers: explorers by the name they get in the reports.
        family: where the tasks come from.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        episodes: number of episodes of each explorer.
        seed: seed of tasks, noise and the explorers' own randomness.
        progress: hears about every finished part.

    Raises:
        OperatingPointError: not exactly one of the first three is given, a value is
            out of range, or an explorer cannot serve it.
    """
    check_at_least("episodes", episodes, 1)
    request = _Request(error_prob, budget, price, max_queries)
    point = request.operating_point(family)
    progress = NoProgress() if progress is None else progress
    reports = []
    for name, explorer in explorers.items():
        progress.start(name, episodes)
        try:
            tally = _tally(explorer, family, point, episodes, seed, progress)
        finally:
            progress.finish()
        reports.append(_report(name, family, request, seed, tally))
    return reports


def sweep(
    explorers: Mapping[str, AbstractExplorer],
    family: AbstractTaskFamily,
    *,
    error_probs: Sequence[float] = (),
    budgets: Sequence[int] = (),
    prices: Sequence[float] = (),
    max_queries: int | None = None,
    episodes: int = 2_000,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> dict[str, list[Report]]:
    """Evaluates each explorer at several operating points: its curve.

    Args:
        explorers: explorers by the name they get in the reports.
        family: where the tasks come from.
        error_probs: error probabilities to ask for.
        budgets: numbers of queries to ask for.
        prices: prices to ask for.
        max_queries: cap on the queries, beside prices and error probabilities.
        episodes: number of episodes of each explorer at each operating point.
        seed: seed of tasks, noise and the explorers' own randomness.
        progress: hears about every finished part.
    """
    requests = [
        *({"error_prob": value, "max_queries": max_queries} for value in error_probs),
        *({"budget": value} for value in budgets),
        *({"price": value, "max_queries": max_queries} for value in prices),
    ]
    rows = [
        evaluate(
            explorers,
            family,
            **request,
            episodes=episodes,
            seed=seed,
            progress=progress,
        )
        for request in requests
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate(explorers)}


@dataclasses.dataclass(frozen=True)
class _Request:
    """The operating point as the user put it."""

    error_prob: float | None
    budget: int | None
    price: float | None
    max_queries: int | None

    def operating_point(self, family: AbstractTaskFamily) -> OperatingPoint:
        return OperatingPoint.at(family.spec.horizon, **dataclasses.asdict(self))


def _tally(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    point: OperatingPoint,
    episodes: int,
    seed: int,
    progress: AbstractProgress,
) -> Tally:
    chunks = rollout_chunks(explorer, family, point, episodes, key=jr.key(seed))
    total = None
    for chunk in chunks:
        tally = Tally.of(chunk.ending, family.spec.horizon)
        total = tally if total is None else total + tally
        progress.advance(tally.episodes)
    assert total is not None
    return total


def _report(
    name: str, family: AbstractTaskFamily, request: _Request, seed: int, tally: Tally
) -> Report:
    return Report(
        explorer=name,
        family=family_record(family),
        episodes=tally.episodes,
        seed=seed,
        price=request.price,
        budget=request.budget,
        error_prob=request.error_prob,
        query_cap=request.max_queries,
        certified=False,
        accuracy=tally.accuracy,
        accuracy_interval=tally.accuracy_interval,
        mean_queries=tally.mean_queries,
        mean_queries_interval=tally.mean_queries_interval,
        max_queries=tally.max_queries,
        mean_cost=tally.total_cost / tally.episodes,
        query_quantiles={str(q): tally.quantile(q) for q in QUANTILES},
        survival=tuple(tally.survival.tolist()),
        stop_reasons=tally.stop_reasons,
    )
