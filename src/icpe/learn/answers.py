"""Simulated answers, divided into values or ranges, ready to be counted."""

import dataclasses
import functools as ft

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from icpe.core.simulate import FirstAnswers, distinct_outcomes
from icpe.core.spec import TaskSpec

NUM_RANGES = 64
_WIDEST = 3.0
"""Ranges are cut at the quantiles that a normal number has up to here."""


@dataclasses.dataclass(frozen=True)
class Answers:
    """Simulated answers as numpy arrays, ready to be counted.

    `symbols` are all distinct outcomes where these are few; `codes` then tells which
    one each answer was. Where they are many, `edges` cuts every number of the outcome
    into ranges, query by query. Numbers are added up around `center`, about their mean,
    so that sums stay accurate far from 0. Answers to queries that were forbidden do not
    count: some other answer is in their place. Where `tasks_repeat`, a task answers a
    repeated query alike although another task of the same hypothesis may not.
    """

    spec: TaskSpec
    hypothesis: Int[np.ndarray, "tasks"]
    first: Float[np.ndarray, "tasks outcome"]
    outcomes: Float[np.ndarray, "tasks repeats queries outcome"]
    allowed: Float[np.ndarray, "tasks queries"]
    symbols: Float[np.ndarray, "symbols outcome"] | None
    codes: Int[np.ndarray, "tasks repeats queries"] | None
    center: Float[np.ndarray, "queries outcome"]
    edges: Float[np.ndarray, "queries outcome cuts"] | None = None
    tasks_repeat: bool = False

    @staticmethod
    def of(
        spec: TaskSpec, found: FirstAnswers, like: "Answers | None" = None
    ) -> "Answers":
        """With the symbols and ranges of other answers, or those found."""
        allowed = np.asarray(found.query_mask, np.float32)
        outcomes = _where_allowed(np.asarray(found.outcomes), allowed)
        center = _center(spec, outcomes, allowed) if like is None else like.center
        symbols = distinct_outcomes(outcomes) if like is None else like.symbols
        codes, edges = None, None
        if symbols is not None:
            codes = nearest(outcomes, symbols)
        elif not spec.outcome_flags:
            edges = _edges(outcomes, allowed) if like is None else like.edges
        return Answers(
            spec,
            np.asarray(found.hypothesis),
            np.asarray(found.first_outcome),
            outcomes,
            allowed,
            symbols,
            codes,
            center,
            edges,
        )

    @property
    def num_symbols(self) -> int | None:
        """How many distinct outcomes there are, None if they are many."""
        return None if self.symbols is None else len(self.symbols)

    def shows_more(self, than: "Answers") -> bool:
        """Whether there are other queries or outcomes in them."""
        queries = self.allowed.any(axis=0) & ~than.allowed.any(axis=0)
        return bool(queries.any()) or self.num_symbols != than.num_symbols

    @property
    def is_noisy(self) -> bool:
        """Whether two answers to the same query on the same task ever differ."""
        if self.tasks_repeat:
            means = self.means()
            spread = centered(means, self.hypothesis, self.spec.num_hypotheses)
            return bool(np.abs(spread).max() > 1e-4 * np.abs(means).max())
        same = self.outcomes == self.outcomes[:, :1]
        return bool(np.any(~same.all(axis=3) & (self.allowed[:, None] > 0)))

    def means(self) -> Float[np.ndarray, "tasks numbers"]:
        """The mean answer of each task to each query, symbols as indicators."""
        if self.codes is None:
            mean = (self.outcomes - self.center).mean(axis=1)
        else:
            assert self.symbols is not None
            size = len(self.symbols)
            mean = np.stack(
                [(self.codes == s).mean(axis=1) for s in range(size)], axis=-1
            )
        mean = mean * self.allowed[..., None]
        return mean.reshape(len(mean), -1).astype(np.float32)

    def share_between_tasks(self) -> float:
        """Share of the variance, given the hypothesis, that is between tasks.

        0 where the hypothesis fixes the law, 1 where a task never varies; needs
        repeated answers.
        """
        repeats = self.outcomes.shape[1]
        means = self.means()
        groups = centered(means, self.hypothesis, self.spec.num_hypotheses)
        between_and_noise = float(np.square(groups).sum())
        if self.codes is None:
            around = self.outcomes - self.center
            deviations = around - around.mean(axis=1, keepdims=True)
            noise = np.square(deviations) * self.allowed[:, None, :, None]
            within = float(noise.sum()) / max(repeats - 1, 1)
        else:
            shares = means.reshape(len(means), self.spec.num_queries, -1)
            spread = (shares * (1 - shares)).sum()
            within = float(spread) * repeats / max(repeats - 1, 1)
        between = max(between_and_noise - within / repeats, 0.0)
        return between / (between + within) if between else 0.0


def nearest(outcomes, symbols) -> Int[np.ndarray, "..."]:
    """Which symbol each outcome is."""
    codes = np.zeros(outcomes.shape[:-1], np.int16)
    best = np.full(outcomes.shape[:-1], np.inf, np.float32)
    for i, symbol in enumerate(symbols):
        distance = np.square(outcomes - symbol).sum(axis=-1)
        closer = distance < best
        codes[closer], best = i, np.minimum(best, distance)
    return codes


def centered(points, groups, num_groups: int) -> Float[np.ndarray, "points numbers"]:
    """The points less the mean of their group."""
    sums = np.zeros((num_groups, points.shape[1]), np.float32)
    np.add.at(sums, groups, points)
    sizes = np.maximum(np.bincount(groups, minlength=num_groups), 1)
    return points - (sums / sizes[:, None])[groups]


def _where_allowed(outcomes, allowed) -> Float[np.ndarray, "tasks repeats queries o"]:
    """With the first answer that was allowed in place of those that were not.

    A family may answer a forbidden query with anything, such as NaN.
    """
    if allowed.all():
        return outcomes
    made = allowed[:, None, :, None] > 0
    task, query = np.unravel_index(allowed.argmax(), allowed.shape)
    return np.where(made, outcomes, outcomes[task, 0, query])


def _center(spec: TaskSpec, outcomes, allowed) -> Float[np.ndarray, "queries outcome"]:
    """The mean of every number of each query; of flagged ones, whatever the query."""
    add = ft.partial(np.einsum, dtype=float)
    if not spec.outcome_flags:
        made = outcomes.shape[1] * allowed.sum(axis=0, dtype=float)
        total = add("tq,trqo->qo", allowed, outcomes)
        return (total / np.maximum(made, 1.0)[:, None]).astype(np.float32)
    values, flags = np.split(outcomes, 2, axis=-1)
    total = add("tq,trqe,trqe->e", allowed, flags, values)
    mean = total / np.maximum(add("tq,trqe->e", allowed, flags), 1.0)
    mean = np.concatenate([mean, np.zeros_like(mean)])
    return np.broadcast_to(mean, outcomes.shape[2:]).astype(np.float32)


def _edges(outcomes, allowed) -> Float[np.ndarray, "queries outcome cuts"]:
    """Quantiles of every number of the outcome of each query.

    As if it were normal, they are equally spaced: fine where most outcomes are, and not
    too wide where few are.
    """
    levels = ndtr(np.linspace(-_WIDEST, _WIDEST, NUM_RANGES - 1))
    num_queries = outcomes.shape[2]
    edges = np.zeros((num_queries, outcomes.shape[3], len(levels)), np.float32)
    for query in range(num_queries):
        seen = outcomes[allowed[:, query] > 0, :, query]
        if len(seen):
            numbers = seen.reshape(-1, outcomes.shape[3])
            edges[query] = np.quantile(numbers, levels, axis=0).T
    return edges
