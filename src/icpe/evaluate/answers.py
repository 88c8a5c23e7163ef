"""Answers of whole episodes, and the law of answers that is counted in them."""

import dataclasses
from collections.abc import Iterable

import numpy as np

from icpe.artifact.guard import Scores, scores
from icpe.artifact.outcome_law import (
    AbstractOutcomeLaw,
    NumberLaw,
    SymbolLaw,
    nearest_context,
    word_of,
)
from icpe.core.simulate import distinct_outcomes
from icpe.core.spec import TaskSpec

_LARGEST_LAW = 2**17
_FEWEST = 8
"""Answers from which on a query and a hypothesis have a law of their own."""
_MOST_CONTEXTS = 32
_MOST_WORDS, _WORD_SHARE = 8, 0.02
"""Values of one entry that are words, and the share of answers that makes one."""


@dataclasses.dataclass(frozen=True)
class Played:
    """Whole episodes with the belief before each query, as numpy arrays."""

    queries: np.ndarray
    outcomes: np.ndarray
    length: np.ndarray
    hypothesis: np.ndarray
    beliefs: np.ndarray
    revealed: np.ndarray

    def until(self, doubt: float | None) -> "Played":
        """The same episodes, ended where the belief leaves no more doubt than that."""
        if doubt is None:
            return self
        sure = self.beliefs.max(axis=2) >= 1.0 - doubt
        first = np.where(sure.any(axis=1), sure.argmax(axis=1), sure.shape[1])
        return dataclasses.replace(self, length=np.minimum(self.length, first))

    def scores(self, law: AbstractOutcomeLaw) -> Scores:
        """What the guard sees in them."""
        return scores(
            law,
            self.beliefs,
            self.queries,
            self.outcomes,
            self.length,
            law.context_of(self.revealed),
        )


def count_law(spec: TaskSpec, chunks: Iterable[Played]) -> AbstractOutcomeLaw:
    """The law of answers, from all episodes together."""
    queries, outcomes, hypotheses, lengths, revealed = [], [], [], [], []
    for played in chunks:
        made = np.arange(played.queries.shape[1]) < played.length[:, None]
        queries.append(played.queries[made])
        outcomes.append(played.outcomes[made])
        hypotheses.append(np.repeat(played.hypothesis, played.length))
        lengths.append(played.length)
        revealed.append(played.revealed)
    asked, truth, answers, length, first = map(
        np.concatenate, (queries, hypotheses, outcomes, lengths, revealed)
    )
    symbols = distinct_outcomes(answers)
    if symbols is not None:
        return _symbol_law(spec, asked, truth, answers, symbols)
    episode = np.repeat(np.arange(len(length)), length)
    return _number_law(spec, asked, truth, answers, episode, first)


def _groups(spec: TaskSpec, queries, hypotheses, size: int):
    """The cell of each answer, and the shape of the table of all cells."""
    number = spec.num_hypotheses
    if spec.num_queries * number * size > _LARGEST_LAW:
        number, hypotheses = 1, np.zeros_like(hypotheses)
    return queries * number + hypotheses, (spec.num_queries, number)


def _symbol_law(spec: TaskSpec, queries, hypotheses, outcomes, symbols) -> SymbolLaw:
    distance = np.square(outcomes[:, None] - symbols[None]).sum(axis=2)
    codes = distance.argmin(axis=1)
    cells, shape = _groups(spec, queries, hypotheses, len(symbols))
    counts = np.bincount(
        cells * len(symbols) + codes, minlength=shape[0] * shape[1] * len(symbols)
    ).reshape(*shape, len(symbols))
    return SymbolLaw(symbols.astype(np.float32), _shrunk(counts).astype(np.float32))


def _number_law(
    spec: TaskSpec, queries, hypotheses, outcomes, episode, revealed
) -> NumberLaw:
    words = _words(outcomes)
    entries, kinds = outcomes.shape[1], len(words) + 1
    contexts = _contexts(spec, revealed)
    if contexts is None:
        cells, shape = _groups(spec, queries, hypotheses, entries * kinds)
        group, groups = np.zeros_like(queries), 1
    else:
        group, groups = nearest_context(contexts, revealed)[episode], len(contexts)
        cells, shape = 2 * group + (queries != hypotheses), (groups, 2)
    total = shape[0] * shape[1]
    code = word_of(words, outcomes)
    values = outcomes.astype(float)
    number = (code == len(words)).astype(float)

    def sums(keys, weights, size):
        found = [np.bincount(keys, one, minlength=size) for one in weights.T]
        return np.stack(found, axis=1)

    moments = [sums(cells, number * values**power, total) for power in range(3)]
    mean, variance = _moments(*(x.reshape(*shape, entries) for x in moments))
    # Repeated answers in one episode tell the noise from what tasks differ by.
    _, repeated = np.unique(episode * spec.num_queries + queries, return_inverse=True)
    size = int(repeated.max(initial=-1)) + 1
    times = sums(repeated, number, size)
    own = (sums(repeated, number * values, size) / np.maximum(times, 1))[repeated]
    scatter = number * np.square(values - own)
    more = number * (1.0 - 1.0 / np.maximum(times, 1)[repeated])
    squares, freedom = sums(group, scatter, groups), sums(group, more, groups)
    apart = number * np.square(values - mean.reshape(total, entries)[cells])
    spread = sums(group, apart, groups) / np.maximum(sums(group, number, groups), 1)
    noise = squares / np.maximum(freedom, 1) / np.maximum(spread, 1e-18)
    share = np.where(freedom >= _FEWEST, np.clip(noise, 0.0, 1.0), 1.0)[:, None]
    squares, freedom = (
        sums(cells, it, total).reshape(*shape, entries) for it in (scatter, more)
    )
    noise = (squares + _FEWEST * share * variance) / (freedom + _FEWEST)
    least = (1e-6 * spread + 1e-18)[:, None]
    within = np.maximum(np.minimum(noise, variance), least)
    between = np.maximum(variance - within, 0.0)
    kind = np.stack([sums(cells, 1.0 * (code == k), total) for k in range(kinds)], 2)
    chance = _shrunk(kind.reshape(*shape, entries, kinds))
    arrays = (mean, between, within, words, chance)
    tables = (array.astype(np.float32) for array in arrays)
    return NumberLaw(*tables, contexts=contexts)


def _contexts(spec: TaskSpec, revealed: np.ndarray) -> np.ndarray | None:
    """What tables are made for of what episodes reveal first; None if one does.

    All of it if that is little; otherwise what lies farthest from all chosen before.
    """
    values = np.unique(revealed.astype(np.float32), axis=0)
    if len(values) < 2 or not (spec.queries_alike and spec.reset_entries):
        return None
    width = np.ptp(values, axis=0)
    scaled = values / np.where(width > 0, width, 1.0)
    chosen, apart = [0], np.full(len(values), np.inf)
    while len(chosen) < min(_MOST_CONTEXTS, len(values)):
        gap = np.square(scaled - scaled[chosen[-1]]).sum(axis=1)
        apart = np.minimum(apart, gap)
        chosen.append(int(apart.argmax()))
    return values[chosen]


def _words(outcomes: np.ndarray) -> np.ndarray:
    """Values that come again and again in an entry, most frequent first."""
    found = []
    for column in outcomes.T:
        values, times = np.unique(column, return_counts=True)
        often = np.argsort(-times)[:_MOST_WORDS]
        found.append(values[often][times[often] >= _WORD_SHARE * len(column)])
    words = np.full((max(map(len, found)), outcomes.shape[1]), np.nan, outcomes.dtype)
    for entry, values in enumerate(found):
        words[: len(values), entry] = values
    return words


def _shrunk(counts: np.ndarray) -> np.ndarray:
    """Shares along the last axis, towards those of the query and of all."""
    every = counts.sum(axis=(0, 1)) + 1e-3
    every = every / every.sum(axis=-1, keepdims=True)
    of_query = counts.sum(axis=1) + every
    of_query = of_query / of_query.sum(axis=-1, keepdims=True)
    table = counts + 0.5 * of_query[:, None]
    return table / table.sum(axis=-1, keepdims=True)


def _moments(counts, first, second):
    """Of each cell; of the query, or of all, where it was seen too little."""
    of_query = [x.sum(axis=1, keepdims=True) for x in (counts, first, second)]
    of_all = [x.sum(axis=(0, 1), keepdims=True) for x in (counts, first, second)]
    number, one, two = of_all
    number = np.maximum(number, 1)
    mean, variance = one / number, two / number - np.square(one / number)
    for number, one, two in (of_query, (counts, first, second)):
        safe = np.maximum(number, 1)
        own = one / safe
        spread = np.maximum(two / safe - np.square(own), 0.0)
        enough = number >= _FEWEST
        shrunk = (number * spread + 2 * variance) / (number + 2)
        mean = np.where(enough, own, mean)
        variance = np.where(enough, shrunk, variance)
    return mean, np.maximum(variance, 1e-18)
