"""Run explorers on the same fresh tasks and report how well they did."""

import contextlib
import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import jax.random as jr
import numpy as np

from icpe.artifact.serving import Contender, Player, serve
from icpe.core.arrays import PyTree
from icpe.core.checks import check_num_episodes
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.host import explained
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint, Promise, Regime, Request
from icpe.evaluate.metrics import QUANTILES, Tally
from icpe.evaluate.promises import decided_in
from icpe.evaluate.report import Report, family_record
from icpe.play.rollout import num_cases, rollout_chunks, run_cases


@explained()
def evaluate(
    explorers: Mapping[str, Contender],
    family: AbstractTaskFamily,
    *,
    error_prob: float | None = None,
    budget: int | None = None,
    price: float | None = None,
    max_queries: int | None = None,
    promise: Promise | str = Promise.AVERAGE,
    episodes: int = 10_000,
    seed: int = 0,
    cases: PyTree | None = None,
    progress: AbstractProgress | None = None,
) -> list[Report]:
    """Measures each explorer at one operating point, one report each.

    All explorers face the same tasks and the same noise (episode i has the key
    `fold_in(key(seed), i)`), so that their differences are less noisy than their
    levels. Memory does not grow with the number of episodes. Where the family was made
    of data, its held-out cases are played, each once.

    Args:
        explorers: explorers by the name they get in the reports.
        family: where the tasks come from.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        promise: what error_prob is promised about.
        episodes: number of episodes of each explorer.
        seed: seed of tasks, noise and the explorers' own randomness.
        cases: tasks of your own with a leading axis, each played once, in place of
            all of these.
        progress: receives every finished part.

    Raises:
        OperatingPointError: not exactly one of the first three is given, a value is
            out of range, or an explorer cannot serve it.
    """
    check_num_episodes("episodes", episodes)
    request = Request(error_prob, budget, price, max_queries, promise=promise)
    ready = {name: serve(it, request, family) for name, it in explorers.items()}
    return [
        measure(name, player, request, family, episodes, seed, progress, cases)
        for name, player in ready.items()
    ]


def sweep(
    explorers: Mapping[str, Contender],
    family: AbstractTaskFamily,
    requests: Sequence[Request],
    *,
    episodes: int = 2_000,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> dict[str, list[Report]]:
    """Evaluates each explorer on several requests: its curve.

    Requests that an explorer cannot serve are left out of its curve.

    Args:
        explorers: explorers by the name they get in the reports.
        family: where the tasks come from.
        requests: what to ask for.
        episodes: number of episodes of each explorer for each request.
        seed: seed of tasks, noise and the explorers' own randomness.
        progress: receives every finished part.
    """
    for request in requests:
        request.at(family.spec.horizon)
    curves: dict[str, list[Report]] = {name: [] for name in explorers}
    for (name, contender), request in itertools.product(explorers.items(), requests):
        with contextlib.suppress(OperatingPointError):
            player = serve(contender, request, family)
            curves[name].append(
                measure(name, player, request, family, episodes, seed, progress)
            )
    return curves


def measure(
    name: str,
    player: Player,
    request: Request,
    family: AbstractTaskFamily,
    episodes: int,
    seed: int,
    progress: AbstractProgress | None = None,
    cases: PyTree | None = None,
) -> Report:
    """One player on one request; see `evaluate`."""
    progress = NoProgress() if progress is None else progress
    progress.start(name, episodes)
    if cases is None:
        cases = family.held_out_cases()
    try:
        if cases is None:
            tally = _tally(player, family, episodes, seed, progress)
        else:
            tally = _tally_cases(player, family, cases, seed)
    finally:
        progress.finish()
    return _report(name, family, request, player, seed, tally)


def _tally(
    player: Player,
    family: AbstractTaskFamily,
    episodes: int,
    seed: int,
    progress: AbstractProgress,
) -> Tally:
    chunks = rollout_chunks(
        player.explorer,
        family,
        player.operating_point,
        episodes,
        key=jr.key(seed),
        keep_posterior=player.doubt is not None,
    )
    total = None
    for chunk in chunks:
        tally = Tally.of(chunk.ending, _most_queries(player, family))
        if player.doubt is not None:
            decided = decided_in(chunk.ending, player)
            right = np.asarray(chunk.ending.correct) & decided
            counts = (int(right.sum()), int(decided.sum()))
            tally = dataclasses.replace(tally, decided=counts)
        total = tally if total is None else total + tally
        progress.advance(tally.episodes)
    assert total is not None
    return total


def _tally_cases(
    player: Player, family: AbstractTaskFamily, cases: PyTree, seed: int
) -> Tally:
    """Of real cases that nothing saw, each played once, however many were asked for."""
    if not num_cases(cases):
        raise UnsupportedError(
            "This explorer was made of a table of which no rows were held out, so "
            "there is nothing to measure it on; train it again and hold some out, as "
            "by --held-out 0.2."
        )
    point, key = player.operating_point, jr.key(seed)
    ending = run_cases(player.explorer, family, point, cases, key=key)
    return Tally.of(ending, _most_queries(player, family))


def _most_queries(player: Player, family: AbstractTaskFamily) -> int:
    asked = np.max(np.asarray(player.operating_point.max_queries))
    return min(int(asked), family.spec.horizon)


def _report(
    name: str,
    family: AbstractTaskFamily,
    request: Request,
    player: Player,
    seed: int,
    tally: Tally,
) -> Report:
    certificate = player.certificate
    return Report(
        explorer=name,
        family=family_record(family),
        episodes=tally.episodes,
        seed=seed,
        price=_price(request, player.operating_point),
        budget=request.budget,
        error_prob=request.error_prob,
        query_cap=request.max_queries,
        certified=player.certified,
        confidence=None if certificate is None else certificate.confidence,
        attempt=None if certificate is None else certificate.attempt,
        accuracy=tally.accuracy,
        accuracy_interval=tally.accuracy_interval,
        mean_queries=tally.mean_queries,
        mean_queries_interval=tally.mean_queries_interval,
        max_queries=tally.max_queries,
        mean_cost=tally.total_cost / tally.episodes,
        query_quantiles={str(q): tally.quantile(q) for q in QUANTILES},
        survival=tuple(tally.survival.tolist()),
        stop_reasons=tally.stop_reasons,
        promise=None if request.error_prob is None else str(request.promise),
        undecided=tally.undecided,
        decided_accuracy=tally.decided_accuracy,
        decided_accuracy_interval=tally.decided_accuracy_interval,
    )


def _price(request: Request, point: OperatingPoint) -> float | None:
    """The price asked for, or the one that serves the error probability asked for."""
    if request.price is not None or point.regime is not Regime.PRICE:
        return request.price
    return float(f"{float(point.price):.7g}")
