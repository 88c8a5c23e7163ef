"""Sums over simulated answers, and the tables that follow from them."""

import dataclasses
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from icpe.core.simulate import distinct_outcomes
from icpe.learn.answers import Answers, nearest
from icpe.nets.outcome_tables import (
    AbstractOutcomes,
    FlaggedTable,
    GaussianTable,
    RangeTable,
    SymbolTable,
)
from icpe.nets.predictions import Predictions

Kind = Literal["moments", "ranges"]
NUM_CELLS = 32
_PSEUDO_COUNT = 0.5
_NOISELESS_PSEUDO_COUNT = 1e-4
_RANGE_PSEUDO_COUNT = 4.0
_LEAST_VARIANCE = 1e-4
"""Of an outcome, relative to its variance over everything; noise is never less."""
_ROUNDING = 1e-6
"""Of numbers in single precision."""
_TINY = 1e-30
_NO_WEIGHT = -60.0


@dataclasses.dataclass(frozen=True)
class Tally:
    """Sums over the answers of each class, from which all tables are made.

    Where outcomes are symbols, `symbol_counts` has how often each was the answer; else
    there are counts, sums and sums of squares of the numbers less their `center`, and
    `range_counts` has how often each was in each range, if these are counted. With
    flagged outcomes those are about entries whatever the query, and `revealed` has how
    often each query revealed each entry.
    """

    sizes: Float[np.ndarray, "classes"]
    asked: Float[np.ndarray, "queries"]
    center: Float[np.ndarray, "queries outcome"]
    symbol_counts: np.ndarray | None = None
    counts: np.ndarray | None = None
    sums: np.ndarray | None = None
    squares: np.ndarray | None = None
    range_counts: np.ndarray | None = None
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
                answers.first.mean(axis=0, keepdims=True),
                first_symbols,
                classes,
                num_classes,
                flags=False,
            )
        tally = _tally(
            answers.outcomes,
            answers.allowed,
            answers.center,
            answers.symbols,
            classes,
            num_classes,
            flags=answers.spec.outcome_flags,
            edges=answers.edges,
        )
        return dataclasses.replace(tally, first=first, first_symbols=first_symbols)

    def predictions(self, answers: Answers, kind: Kind = "moments") -> Predictions:
        """The tables, as the networks take them.

        Args:
            answers: what was counted, or answers like them.
            kind: whether numbers are Gaussian, or have any law on their ranges.
        """
        spec = answers.spec
        log_prior = np.log(np.maximum(self.sizes, 1e-12) / self.sizes.sum())
        log_prior = np.where(self.sizes > 0, log_prior, _NO_WEIGHT)
        first = None
        if self.first is not None:
            first = self.first.table(self.first_symbols, True)
        edges = answers.edges if kind == "ranges" else None
        outcomes = self.table(answers.symbols, answers.is_noisy, edges)
        return Predictions.of(spec, _table(log_prior), outcomes, first)

    def table(self, symbols, is_noisy: bool, edges=None) -> AbstractOutcomes:
        """The law of outcomes in each class."""
        if self.symbol_counts is not None:
            return _symbol_table(self.symbol_counts, symbols, is_noisy)
        assert self.counts is not None
        center = self.center.astype(float)
        if self.revealed is not None:  # the same for every query
            center = np.split(center[0], 2)[0][:, None]
        mean, variance = _moments(
            self.counts[..., None], self.sums, self.squares, center
        )
        if self.revealed is not None:
            share = self.revealed / np.maximum(self.asked, 1.0)[:, None]
            return FlaggedTable(
                mean=_table(mean[..., 0].T),
                variance=_table(variance[..., 0].T),
                revealed=_table(share),
            )
        if edges is not None:
            return _range_table(self.range_counts, edges, mean, variance)
        cells = _cells(mean[..., 0], variance[..., 0]) if mean.shape[2] == 1 else None
        return GaussianTable(
            mean=_table(np.moveaxis(mean, 0, -1)),
            variance=_table(np.moveaxis(variance, 0, -1)),
            cell_probability=None if cells is None else _table(cells),
        )


def _tally(
    outcomes,
    allowed,
    center,
    symbols,
    classes,
    num_classes: int,
    *,
    flags: bool,
    edges=None,
):
    """Sums over outcomes, which are tasks x repeats x queries x entries."""
    repeats = outcomes.shape[1]
    sizes = np.bincount(classes, minlength=num_classes).astype(float)
    asked = repeats * allowed.sum(axis=0)

    def add(values):
        total = np.zeros((num_classes, *values.shape[1:]))
        np.add.at(total, classes, values)
        return total

    if symbols is not None:
        codes = nearest(outcomes, symbols)
        counts = [
            add((codes == symbol).sum(axis=1) * allowed)
            for symbol in range(len(symbols))
        ]
        return Tally(sizes, asked, center, symbol_counts=np.stack(counts, axis=-1))
    weight = allowed[:, None, :, None]
    around = outcomes - center
    if not flags:
        return Tally(
            sizes,
            asked,
            center,
            counts=add(repeats * allowed),
            sums=add((weight * around).sum(axis=1)),
            squares=add((weight * np.square(around)).sum(axis=1)),
            range_counts=_count_ranges(outcomes, weight, classes, num_classes, edges),
        )
    values, shown = np.split(around, 2, axis=-1)
    shown = shown * weight
    return Tally(
        sizes,
        asked,
        center,
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


def _count_ranges(outcomes, weight, classes, num_classes: int, edges):
    """How often each number was in each of its ranges, by class and query."""
    if edges is None:
        return None
    num_cells = edges.shape[-1] + 1
    places = np.zeros(outcomes.shape, np.int64)
    for cut in range(num_cells - 1):
        places += outcomes > edges[..., cut]
    _, _, num_queries, size = outcomes.shape
    places += num_cells * np.arange(num_queries * size).reshape(num_queries, size)
    places += num_cells * num_queries * size * classes[:, None, None, None]
    shape = (num_classes, num_queries, size, num_cells)
    weights = np.broadcast_to(weight, outcomes.shape)
    counts = np.bincount(places.ravel(), weights.ravel(), minlength=int(np.prod(shape)))
    return counts.reshape(shape)


def _range_table(counts, edges, mean, variance) -> RangeTable:
    """Smoothed towards the Gaussian law, and a little towards the query's marginal."""
    marginal = counts.sum(axis=0) + 1e-6
    marginal = marginal / marginal.sum(axis=-1, keepdims=True)
    law = 0.9 * np.asarray(_between(edges[None], mean, variance), float)
    smoothed = counts + _RANGE_PSEUDO_COUNT * (law + 0.1 * marginal)
    table = smoothed / smoothed.sum(axis=-1, keepdims=True)
    return RangeTable(
        edges=_table(edges),
        log_probability=_table(np.log(np.moveaxis(table, 0, -1))),
    )


def _moments(counts, sums, squares, center):
    """Mean and variance, shrunk towards those over all classes.

    The variance is no less than what single precision can tell apart.
    """
    total = np.maximum(counts.sum(axis=0), 1e-9)
    marginal = sums.sum(axis=0) / total
    least = np.square(_ROUNDING * center) + _TINY
    spread = np.maximum(squares.sum(axis=0) / total - marginal**2, least)
    mean = (sums + _PSEUDO_COUNT * marginal) / (counts + _PSEUDO_COUNT)
    own = squares - 2 * mean * sums + counts * mean**2
    variance = (own + _PSEUDO_COUNT * spread) / (counts + _PSEUDO_COUNT)
    return center + mean, np.maximum(variance, _LEAST_VARIANCE * spread + least)


def _cells(mean, variance):
    """Probability of ranges of one number, which are likely over all classes."""
    deviation = np.sqrt(variance)
    low = (mean - 4 * deviation).min(axis=0)
    high = (mean + 4 * deviation).max(axis=0)
    steps = np.linspace(0.0, 1.0, NUM_CELLS + 1)[1:-1]
    edges = low[:, None] + (high - low)[:, None] * steps
    return np.moveaxis(_between(edges[None], mean, variance), 0, -1)


def _between(edges, mean, variance):
    """Probability of a Gaussian number between edges, and beyond the outermost."""
    below = ndtr((edges - mean[..., None]) / np.sqrt(variance)[..., None])
    ends = np.zeros_like(below[..., :1])
    return np.diff(np.concatenate([ends, below, ends + 1.0], axis=-1), axis=-1)


def _table(values):
    return jnp.asarray(values, jnp.float32)
