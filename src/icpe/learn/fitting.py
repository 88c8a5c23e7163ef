"""Tables of predictions fitted to simulated answers, and which of them are best."""

import dataclasses
import functools as ft
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icpe.core.family import AbstractTaskFamily
from icpe.core.simulate import first_answers
from icpe.core.spec import TaskSpec
from icpe.learn.answers import NUM_RANGES, Answers
from icpe.learn.counting import count_by_hypothesis
from icpe.learn.random_play import random_histories, share_that_holds
from icpe.learn.tables import cluster, fit_classes
from icpe.learn.tally import NUM_CELLS, Kind, Tally
from icpe.nets.predictions import Predictions

ON_HOST = 2**13
"""Answers in all where each is a call of Python; elsewhere they are nearly free."""
_FEW_DRAWS = 2**19
_NUM_REPEATS = 4
_MOST_TASKS = 8192
_MOST_CLASSES = 1024
_CANDIDATES = (4, 16, 64)
_FIXED_LAW = 0.01
"""Below this share of variance between tasks, the hypothesis fixes the law."""
_CLEARLY = 0.995
"""Of a loss, at which other tables are worth being larger, or less simple."""

_LAW_CHANGES = 0.75
"""Trust at most in tables of the mean of laws that depend on what was asked before."""


class Fitting:
    """Tables with different numbers of classes, from answers that are drawn once."""

    def __init__(self, family: AbstractTaskFamily, few: Answers, draws: int, seed: int):
        self.few = few
        self._family, self._draws, self._seed = family, draws, seed

    def __call__(self, num_each: int, kind: Kind = "moments") -> Predictions:
        """With so many classes for each hypothesis."""
        if num_each == 1 and not np.any(self.few.first):
            return self._tally.predictions(self.few, kind)
        classes = cluster(self._answers, num_each, self._seed)
        return fit_classes(self._answers, classes, num_each, kind)

    def limited(self, largest: int) -> "Fitting | None":
        """Without ranges where they make a table too large; None where all are."""
        spec, few = self.few.spec, self.few
        if not fits(spec, few.num_symbols, largest):
            return None
        pairs = spec.num_queries * spec.num_hypotheses
        if few.edges is not None and pairs * spec.outcome_size * NUM_RANGES > largest:
            few = dataclasses.replace(few, edges=None)
        return Fitting(self._family, few, self._draws, self._seed)

    @ft.cached_property
    def _tally(self) -> Tally:
        seed = self._seed + 10
        return count_by_hypothesis(self._family, self.few, self._draws, seed)

    @ft.cached_property
    def _answers(self) -> Answers:
        spec = self.few.spec
        per_task = spec.num_queries * spec.outcome_size
        repeats = int(np.clip(self._draws // (_MOST_TASKS * per_task), 1, 64))
        seed = self._seed + 10
        return _answers(self._family, self._draws, repeats, self.few, seed)


def best_tables(
    family: AbstractTaskFamily,
    ways: Sequence[Fitting],
    share: float,
    *,
    largest: int,
    episodes: int,
    seed: int,
) -> tuple[Predictions | None, float]:
    """Those of least loss on fresh histories, and their trust; simpler ones first.

    None where all would be too large, or predict nothing. Where other ways than the
    first are better although they show the same queries, laws depend on what was asked
    before; then they are not trusted entirely, since there is more to be learned.

    Args:
        family: what is predicted.
        ways: answers that tables can be fitted to, the most usual ones first.
        share: of the variance of answers, given the hypothesis, between tasks.
        largest: entries that a table may have.
        episodes: fresh ones.
        seed: of these.
    """
    limited = [way.limited(largest) for way in ways]
    usable = [way for way in limited if way is not None]
    if not usable:
        return None, 0.0
    histories = random_histories(family, episodes, seed=seed)
    tried = [
        _best_of(way, histories, _candidates(family.spec, share)) for way in usable
    ]
    best = ft.reduce(_clearly_better, tried)
    trust, predictions = best.trust, best.predictions
    if best.way.few.edges is not None and share < _FIXED_LAW:
        found = best.way(best.num_each, "ranges")
        loss, ranges_trust = share_that_holds(found, histories)
        if loss < _CLEARLY * best.loss:
            trust, predictions = ranges_trust, found
    if best is not tried[0] and not best.way.few.shows_more(tried[0].way.few):
        trust = min(trust, _LAW_CHANGES)
    return (predictions if trust else None), trust


class _Tried(NamedTuple):
    loss: float
    trust: float
    predictions: Predictions
    way: Fitting
    num_each: int


def _best_of(way: Fitting, histories, candidates: Sequence[int]) -> _Tried:
    """Of tables with so many classes for each hypothesis; fewer ones first."""
    tried = []
    for num_each in candidates:
        found = way(num_each)
        tried.append(_Tried(*share_that_holds(found, histories), found, way, num_each))
    return ft.reduce(_clearly_better, tried)


def _clearly_better(one: _Tried, other: _Tried) -> _Tried:
    """The other only where that is clear."""
    return other if other.loss < _CLEARLY * one.loss else one


def few_answers(family: AbstractTaskFamily, seed: int) -> tuple[Answers, float]:
    """Some answers, and how much of their variance is between tasks.

    On the host a task repeats itself, so that noise shows between tasks alone.
    """
    if family.on_host:
        few = _answers(family, ON_HOST // 4, 1, None, seed)
        return dataclasses.replace(few, tasks_repeat=True), 0.0
    few = _answers(family, _FEW_DRAWS, _NUM_REPEATS, None, seed)
    return few, few.share_between_tasks()


def fits(spec: TaskSpec, num_symbols: int | None, largest: int) -> bool:
    """Whether a table of every hypothesis and query is not too large."""
    cells = NUM_CELLS if num_symbols is None else num_symbols
    return spec.num_queries * spec.num_hypotheses * cells <= largest


def _answers(
    family: AbstractTaskFamily,
    draws: int,
    repeats: int,
    like: Answers | None,
    seed: int,
) -> Answers:
    """So many answers in all, with at least a task for each hypothesis or so."""
    spec = family.spec
    tasks = draws // (repeats * spec.num_queries * spec.outcome_size)
    tasks = int(np.clip(tasks, 64, _MOST_TASKS))
    found = first_answers(family, tasks, repeats=repeats, seed=seed)
    return Answers.of(spec, found, like)


def _candidates(spec: TaskSpec, share: float) -> tuple[int, ...]:
    """Numbers of classes for each hypothesis that are worth a try."""
    if share < _FIXED_LAW:
        return (1,)
    most = min(_MOST_CLASSES // spec.num_hypotheses, _MOST_TASKS // 16)
    return (1, *(number for number in _CANDIDATES if number <= most))
