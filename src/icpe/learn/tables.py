"""Tables of predictions, counted from simulated answers.

Every query is put to many tasks right after their reset. Where tasks of one hypothesis
differ in their answers by more than noise, they are clustered into several classes.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from icpe.core.simulate import FirstAnswers, distinct_outcomes
from icpe.core.spec import TaskSpec
from icpe.nets.outcome_tables import (
    AbstractOutcomes,
    FlaggedTable,
    GaussianTable,
    SymbolTable,
)
from icpe.nets.predictions import Predictions

NUM_CELLS = 32
_NUM_DIRECTIONS = 48
_NUM_ROUNDS = 12
_PSEUDO_COUNT = 0.5
_NOISELESS_PSEUDO_COUNT = 1e-4
_LEAST_VARIANCE = 1e-4
"""Of an outcome, relative to its variance over everything; noise is never less."""
_NO_WEIGHT = -60.0


@dataclasses.dataclass(frozen=True)
class Answers:
    """Simulated answers as numpy arrays, ready to be counted.

    `symbols` are all distinct outcomes where these are few; `codes` then tells which
    one each answer was. Answers to queries that were forbidden do not count. Where
    `tasks_repeat`, a task answers a repeated query alike although another task of the
    same hypothesis may not.
    """

    spec: TaskSpec
    hypothesis: Int[np.ndarray, "tasks"]
    first: Float[np.ndarray, "tasks outcome"]
    outcomes: Float[np.ndarray, "tasks repeats queries outcome"]
    allowed: Float[np.ndarray, "tasks queries"]
    symbols: Float[np.ndarray, "symbols outcome"] | None
    codes: Int[np.ndarray, "tasks repeats queries"] | None
    tasks_repeat: bool = False

    @staticmethod
    def of(spec: TaskSpec, found: FirstAnswers, symbols) -> "Answers":
        """With the symbols given, or those found if they are few."""
        outcomes = np.asarray(found.outcomes)
        if symbols is None:
            symbols = distinct_outcomes(outcomes)
        codes = None
        if symbols is not None:
            codes = _nearest(outcomes, symbols)
        return Answers(
            spec,
            np.asarray(found.hypothesis),
            np.asarray(found.first_outcome),
            outcomes,
            np.asarray(found.query_mask, np.float32),
            symbols,
            codes,
        )

    @property
    def is_noisy(self) -> bool:
        """Whether two answers to the same query on the same task ever differ."""
        if self.tasks_repeat:
            spread = _centered(self.means(), self.hypothesis, self.spec.num_hypotheses)
            return bool(np.abs(spread).max(initial=0.0) > 1e-4)
        same = self.outcomes == self.outcomes[:, :1]
        return bool(np.any(~same.all(axis=3) & (self.allowed[:, None] > 0)))

    def means(self) -> Float[np.ndarray, "tasks numbers"]:
        """The mean answer of each task to each query, symbols as indicators."""
        if self.codes is None:
            mean = self.outcomes.mean(axis=1)
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
        groups = _centered(means, self.hypothesis, self.spec.num_hypotheses)
        between_and_noise = float(np.square(groups).sum())
        if self.codes is None:
            deviations = self.outcomes - self.outcomes.mean(axis=1, keepdims=True)
            noise = np.square(deviations) * self.allowed[:, None, :, None]
            within = float(noise.sum()) / max(repeats - 1, 1)
        else:
            shares = means.reshape(len(means), self.spec.num_queries, -1)
            spread = (shares * (1 - shares)).sum()
            within = float(spread) * repeats / max(repeats - 1, 1)
        between = max(between_and_noise - within / repeats, 0.0)
        return between / max(between + within, 1e-12)


def cluster(answers: Answers, num_each: int, seed: int) -> Int[np.ndarray, "tasks"]:
    """A class for each task: `num_each` for every hypothesis, by their mean answers."""
    random = np.random.default_rng(seed)
    hypothesis = answers.hypothesis
    if num_each == 1:
        return hypothesis
    points = np.concatenate([answers.means(), _scaled_first(answers)], axis=1)
    if points.shape[1] > _NUM_DIRECTIONS:
        directions = random.standard_normal((points.shape[1], _NUM_DIRECTIONS))
        points = points @ directions.astype(np.float32)
    classes = np.zeros(len(points), np.int64)
    for h in range(answers.spec.num_hypotheses):
        members = np.flatnonzero(hypothesis == h)
        if len(members):
            found = _k_means(points[members], num_each, random)
            classes[members] = h * num_each + found
    return classes


def fit_classes(
    answers: Answers, classes: Int[np.ndarray, "tasks"], num_each: int
) -> Predictions:
    """The tables of given classes of tasks."""
    num_classes = answers.spec.num_hypotheses * num_each
    tally = Tally.of(answers, classes, num_classes)
    return tally.predictions(answers.spec, answers.symbols, answers.is_noisy)


@dataclasses.dataclass(frozen=True)
class Tally:
    """Sums over the answers of each class, from which all tables are made.

    Where outcomes are symbols, `symbol_counts` has how often each was the answer; else
    there are counts, sums and sums of squares of the numbers. With flagged outcomes
    those are about entries whatever the query, and `revealed` has how often each query
    revealed each entry.
    """

    sizes: Float[np.ndarray, "classes"]
    asked: Float[np.ndarray, "queries"]
    symbol_counts: np.ndarray | None = None
    counts: np.ndarray | None = None
    sums: np.ndarray | None = None
    squares: np.ndarray | None = None
    revealed: np.ndarray | None = None
    first: "Tally | None" = None
    first_symbols: np.ndarray | None = None

    @staticmethod
    def of(answers: Answers, classes, num_classes: int) -> "Tally":
        """Adds up simulated answers."""
        first_symbols, first = None, None
        if np.any(answers.first):
            first_symbols = distinct_outcomes(answers.first)
            first = _tally(
                answers.first[:, None, None, :],
                np.ones((len(classes), 1), np.float32),
                first_symbols,
                classes,
                num_classes,
                flags=False,
            )
        tally = _tally(
            answers.outcomes,
            answers.allowed,
            answers.symbols,
            classes,
            num_classes,
            flags=answers.spec.outcome_flags,
        )
        return dataclasses.replace(tally, first=first, first_symbols=first_symbols)

    def predictions(self, spec: TaskSpec, symbols, is_noisy: bool) -> Predictions:
        """The tables, as the networks take them."""
        log_prior = np.log(np.maximum(self.sizes, 1e-12) / self.sizes.sum())
        log_prior = np.where(self.sizes > 0, log_prior, _NO_WEIGHT)
        first = None
        if self.first is not None:
            first = self.first.table(self.first_symbols, True)
        return Predictions(
            log_prior=_table(log_prior),
            outcomes=self.table(symbols, is_noisy),
            first=first,
            caution=jnp.zeros(()),
            correction=jnp.ones(()),
            num_hypotheses=spec.num_hypotheses,
            costs=spec.costs,
            ask_once=spec.ask_once,
        )

    def table(self, symbols, is_noisy: bool) -> AbstractOutcomes:
        """The law of outcomes in each class."""
        if self.symbol_counts is not None:
            return _symbol_table(self.symbol_counts, symbols, is_noisy)
        assert self.counts is not None
        mean, variance = _moments(self.counts[..., None], self.sums, self.squares)
        if self.revealed is not None:
            share = self.revealed / np.maximum(self.asked, 1.0)[:, None]
            return FlaggedTable(
                mean=_table(mean[..., 0].T),
                variance=_table(variance[..., 0].T),
                revealed=_table(share),
            )
        cells = _cells(mean[..., 0], variance[..., 0]) if mean.shape[2] == 1 else None
        return GaussianTable(
            mean=_table(np.moveaxis(mean, 0, -1)),
            variance=_table(np.moveaxis(variance, 0, -1)),
            cell_probability=None if cells is None else _table(cells),
        )


def _tally(outcomes, allowed, symbols, classes, num_classes: int, *, flags: bool):
    """Sums over outcomes, which are tasks x repeats x queries x entries."""
    repeats = outcomes.shape[1]
    sizes = np.bincount(classes, minlength=num_classes).astype(float)
    asked = repeats * allowed.sum(axis=0)

    def add(values):
        total = np.zeros((num_classes, *values.shape[1:]))
        np.add.at(total, classes, values)
        return total

    if symbols is not None:
        codes = _nearest(outcomes, symbols)
        counts = [
            add((codes == symbol).sum(axis=1) * allowed)
            for symbol in range(len(symbols))
        ]
        return Tally(sizes, asked, symbol_counts=np.stack(counts, axis=-1))
    weight = allowed[:, None, :, None]
    if not flags:
        return Tally(
            sizes,
            asked,
            counts=add(repeats * allowed),
            sums=add((weight * outcomes).sum(axis=1)),
            squares=add((weight * np.square(outcomes)).sum(axis=1)),
        )
    values, shown = np.split(outcomes, 2, axis=-1)
    shown = shown * weight
    return Tally(
        sizes,
        asked,
        counts=add(shown.sum(axis=(1, 2))),
        sums=add((shown * values).sum(axis=(1, 2)))[..., None],
        squares=add((shown * np.square(values)).sum(axis=(1, 2)))[..., None],
        revealed=shown.sum(axis=(0, 1)),
    )


def _symbol_table(counts, symbols, is_noisy: bool) -> SymbolTable:
    """Smoothed towards the query's marginal, which a pair never seen predicts."""
    num_symbols = len(symbols)
    pseudo = _PSEUDO_COUNT if is_noisy else _NOISELESS_PSEUDO_COUNT
    marginal = counts.sum(axis=0) + 1e-9
    marginal = marginal / marginal.sum(axis=-1, keepdims=True)
    smoothed = counts + pseudo * (0.9 * marginal + 0.1 / num_symbols)
    table = smoothed / smoothed.sum(axis=-1, keepdims=True)
    return SymbolTable(
        symbols=_table(symbols),
        log_probability=_table(np.log(np.moveaxis(table, 0, -1))),
    )


def _moments(counts, sums, squares):
    """Mean and variance, shrunk towards those over all classes."""
    total = np.maximum(counts.sum(axis=0), 1e-9)
    marginal = sums.sum(axis=0) / total
    spread = np.maximum(squares.sum(axis=0) / total - marginal**2, 1e-12)
    mean = (sums + _PSEUDO_COUNT * marginal) / (counts + _PSEUDO_COUNT)
    own = squares - 2 * mean * sums + counts * mean**2
    variance = (own + _PSEUDO_COUNT * spread) / (counts + _PSEUDO_COUNT)
    return mean, np.maximum(variance, _LEAST_VARIANCE * spread + 1e-12)


def _cells(mean, variance):
    """Probability of ranges of one number, which are likely over all classes."""
    deviation = np.sqrt(variance)
    low = (mean - 4 * deviation).min(axis=0)
    high = (mean + 4 * deviation).max(axis=0)
    steps = np.linspace(0.0, 1.0, NUM_CELLS + 1)[1:-1]
    edges = low[:, None] + (high - low)[:, None] * steps
    below = ndtr((edges[None] - mean[..., None]) / deviation[..., None])
    ends = np.zeros_like(below[..., :1])
    cells = np.diff(np.concatenate([ends, below, ends + 1.0], axis=-1), axis=-1)
    return np.moveaxis(cells, 0, -1)


def _table(values):
    return jnp.asarray(values, jnp.float32)


def _nearest(outcomes, symbols):
    """Which symbol each outcome is."""
    codes = np.zeros(outcomes.shape[:-1], np.int16)
    best = np.full(outcomes.shape[:-1], np.inf, np.float32)
    for i, symbol in enumerate(symbols):
        distance = np.square(outcomes - symbol).sum(axis=-1)
        closer = distance < best
        codes[closer], best = i, np.minimum(best, distance)
    return codes


def _centered(points, groups, num_groups: int):
    sums = np.zeros((num_groups, points.shape[1]), np.float32)
    np.add.at(sums, groups, points)
    sizes = np.maximum(np.bincount(groups, minlength=num_groups), 1)
    return points - (sums / sizes[:, None])[groups]


def _scaled_first(answers: Answers):
    """What is revealed at reset, in units that keep tasks apart that differ in it."""
    first = answers.first - answers.first.mean(axis=0)
    spread = first.std(axis=0)
    scale = 10.0 * np.sqrt(np.square(answers.means()).sum(axis=1).mean() + 1e-9)
    return (scale * first / np.maximum(spread, 1e-9)).astype(np.float32)


def _k_means(points, number: int, random: np.random.Generator):
    """Lloyd's algorithm from random points."""
    if len(points) <= number:
        return np.arange(len(points))
    centers = points[random.choice(len(points), number, replace=False)]
    for _ in range(_NUM_ROUNDS):
        nearest = _closest(points, centers)
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, points)
        sizes = np.bincount(nearest, minlength=number)[:, None]
        centers = np.where(sizes > 0, sums / np.maximum(sizes, 1), centers)
    return _closest(points, centers)


def _closest(points, centers):
    squares = np.square(centers).sum(axis=1) - 2 * points @ centers.T
    return np.argmin(squares, axis=1)
