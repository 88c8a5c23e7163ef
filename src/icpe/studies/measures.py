"""The measurements that most cells are: explorers at given requests, and limits."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.serving import Contender, serve
from icpe.core.errors import OperatingPointError
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import Request
from icpe.evaluate.benchmark import measure
from icpe.evaluate.limits import limits
from icpe.evaluate.report import Report
from icpe.explorers import make_explorer
from icpe.explorers.wrappers import wrap_explorer
from icpe.play.rollout import Transcript, rollout_chunks
from icpe.studies.models import Bench, Model
from icpe.studies.statistics.policy import measure_allocation
from icpe.studies.statistics.regions import num_distinct
from icpe.studies.study import AbstractMeasure, Results
from icpe.studies.tables import Estimate, estimate

CURVE_ERROR_PROBS = (
    *(0.4, 0.3, 0.25, 0.2, 0.17, 0.15, 0.13, 0.11, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05),
    *(0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.007, 0.005),
)
"""Where rules that stop by a posterior are measured for their curve."""

Statistic = Literal["distinct", "first-query", "clues"]


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A registered explorer, made for the family played or for another like it."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()
    made_for: AbstractTaskFamily | None = None

    def build(self, family: AbstractTaskFamily, bench: Bench) -> Contender:
        family = family if self.made_for is None else self.made_for
        return make_explorer(self.name, family, **dict(self.parameters))


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained explorer.

    With a `part` of the family it was trained for, its operating table is measured
    there.
    """

    model: Model
    part: AbstractTaskFamily | None = None

    def build(self, family: AbstractTaskFamily, bench: Bench) -> Contender:
        if self.part is None:
            return bench.artifact(self.model)
        return bench.calibrated(self.model, self.part)


@dataclasses.dataclass(frozen=True)
class Wrapped:
    """An explorer built on another; `error_prob` is asked of the one inside."""

    wrapper: str
    inner: Baseline | Trained
    error_prob: float | None = None

    def build(self, family: AbstractTaskFamily, bench: Bench) -> Contender:
        inner, point = self.inner.build(family, bench), None
        if self.error_prob is not None:
            request = Request(error_prob=self.error_prob)
            point = serve(inner, request, family).operating_point
        explorer = inner.explorer if isinstance(inner, Artifact) else inner
        return wrap_explorer(self.wrapper, explorer, family, point)


AnyExplorer = Baseline | Trained | Wrapped


@dataclasses.dataclass(frozen=True)
class Evaluation(AbstractMeasure):
    """An explorer on fresh tasks, at several requests.

    The result has a short report for each request under "error_prob", "budget" and
    "price"; a request that the explorer cannot serve is recorded with the reason.
    "curve" holds one point for each of `curve_error_probs`, or for `curve_prices`
    prices of a trained explorer.

    Attributes:
        family: where the tasks come from.
        explorer: who plays.
        error_probs: error probabilities to ask for.
        budgets: budgets to ask for.
        prices: prices to ask for.
        curve_error_probs: error probabilities of the curve.
        curve_prices: number of prices of the curve.
        statistics: further things to measure at every request.
        episodes: for each request.
    """

    family: AbstractTaskFamily
    explorer: AnyExplorer
    error_probs: tuple[float, ...] = ()
    budgets: tuple[int, ...] = ()
    prices: tuple[float, ...] = ()
    curve_error_probs: tuple[float, ...] = ()
    curve_prices: int = 0
    statistics: tuple[Statistic, ...] = ()
    episodes: int = 10_000

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Plays all requests with the same tasks and the same noise."""
        contender = self.explorer.build(self.family, bench)
        play = _Play(contender, self, bench, seed)
        result: dict[str, Any] = {
            "error_prob": {
                f"{p:g}": play(Request(error_prob=p)) for p in self.error_probs
            },
            "budget": {str(n): play(Request(budget=n)) for n in self.budgets},
            "price": {f"{c:g}": play(Request(price=c)) for c in self.prices},
            "curve": [play.point(request) for request in self._curve(contender)],
        }
        played = contender
        if isinstance(self.explorer, Wrapped):
            played = self.explorer.inner.build(self.family, bench)
        if isinstance(played, Artifact):
            result["training"] = played.training
            result["trained"] = played.provenance
        return result

    def _curve(self, contender: Contender) -> list[Request]:
        requests = [Request(error_prob=p) for p in self.curve_error_probs]
        if self.curve_prices:
            assert isinstance(contender, Artifact)
            prices = contender.universal_nets.prices
            grid = np.geomspace(prices.low, prices.high, self.curve_prices)
            requests += [Request(price=float(price)) for price in grid]
        return requests


class _Play:
    """Plays requests of one cell."""

    def __init__(
        self, contender: Contender, measure: Evaluation, bench: Bench, seed: int
    ):
        self._contender, self._measure = contender, measure
        self._bench, self._seed = bench, seed

    def __call__(self, request: Request) -> dict[str, Any]:
        """A short report, with the statistics asked for."""
        try:
            report = self._report(request)
        except OperatingPointError as error:
            return {"unserved": str(error)}
        result = short(report)
        for name in self._measure.statistics:
            result |= _STATISTICS[name](self, request)
        return result

    def point(self, request: Request) -> dict[str, Any]:
        """A point of the curve."""
        report = self._report(request)
        return {
            "error_prob": request.error_prob,
            "price": request.price,
            **{name: getattr(report, name) for name in _POINT},
        }

    def _report(self, request: Request) -> Report:
        family, episodes = self._measure.family, self._measure.episodes
        player = serve(self._contender, request, family)
        return measure(
            "it", player, request, family, episodes, self._seed, self._bench.progress
        )

    def transcripts(self, request: Request) -> list[Transcript]:
        """The same episodes again, step by step."""
        player = serve(self._contender, request, self._measure.family)
        return list(
            rollout_chunks(
                player.explorer,
                self._measure.family,
                player.operating_point,
                self._measure.episodes,
                key=jr.key(self._seed),
            )
        )

    def distinct(self, request: Request) -> dict[str, Any]:
        """Mean share of the queries allowed at first that were made at least once."""
        number = self._measure.family.spec.num_queries
        shares = np.concatenate(
            [
                num_distinct(np.asarray(one.history.queries), number)
                / _num_allowed(one, number)
                for one in self.transcripts(request)
            ]
        )
        error = 1.96 * float(shares.std() / np.sqrt(len(shares)))
        mean = float(shares.mean())
        return {"distinct": mean, "distinct_interval": (mean - error, mean + error)}

    def first_query(self, request: Request) -> dict[str, Any]:
        """Share of query 0 in all queries."""
        allocation = measure_allocation(
            self._contender,
            self._measure.family,
            request,
            episodes=self._measure.episodes,
            seed=self._seed,
        )
        return {"first_query_share": float(allocation.fractions[0])}

    def clues(self, request: Request) -> dict[str, Any]:
        """In the magic room: how often it is right with 0, 1 and 2 clues found."""
        correct, found, queries = [], [], []
        for one in self.transcripts(request):
            made = np.asarray(one.ending.num_queries)
            last = np.asarray(one.history.outcomes)[np.arange(len(made)), made]
            found.append((last[:, 2:4] != 0).sum(axis=1))
            correct.append(np.asarray(one.ending.correct))
            queries.append(made)
        number = np.concatenate(found)
        right, made = np.concatenate(correct), np.concatenate(queries)
        return {
            "clues": [
                {
                    "clues": count,
                    "episodes": int((number == count).sum()),
                    "accuracy": _mean(right[number == count]),
                    "mean_queries": _mean(made[number == count]),
                }
                for count in range(3)
            ]
        }


_STATISTICS = {
    "distinct": _Play.distinct,
    "first-query": _Play.first_query,
    "clues": _Play.clues,
}
_POINT = ("accuracy", "accuracy_interval", "mean_queries", "mean_queries_interval")
_SHORT = (*_POINT, "max_queries", "mean_cost", "episodes", "price", "certified")


def short(report: Report) -> dict[str, Any]:
    """What a record keeps of a report."""
    kept: dict[str, Any] = {name: getattr(report, name) for name in _SHORT}
    kept["survival"] = [round(share, 5) for share in report.survival]
    return kept


def _num_allowed(transcript: Transcript, num_queries: int) -> np.ndarray | int:
    """Queries that were allowed at the first step of each episode."""
    if transcript.query_masks is None:
        return num_queries
    return np.asarray(transcript.query_masks)[:, 0].sum(axis=1)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


@dataclasses.dataclass(frozen=True)
class Optimum(AbstractMeasure):
    """What is known about the best possible, as `icpe bounds` prints it."""

    family: AbstractTaskFamily
    error_prob: float | None = None

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Looks it up or computes it."""
        return dict(limits(self.family, self.error_prob, seed=seed))


def at(result: Mapping[str, Any] | None, kind: str, request: str) -> Any:
    """What an `Evaluation` found at a request, None if it was not asked."""
    return None if result is None else result[kind].get(request)


def value_at(
    results: Results, row: str, method: str, name: str, *, kind: str, request: str
) -> Estimate | None:
    """A measured quantity of a row and method at one request, over its seeds."""
    return estimate([at(one, kind, request) for one in results.of(row, method)], name)
