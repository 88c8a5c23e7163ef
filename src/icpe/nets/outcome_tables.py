"""The law of outcomes in each class of tasks, for every query, as tables.

Outcomes are one of few symbols, or numbers that are independent and Gaussian or have
any law on finitely many ranges, or numbers of which some are revealed.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import entr
from jaxtyping import Array, Float

from icpe.core.arrays import Index

HIGHEST = lax.Precision.HIGHEST


class AbstractOutcomes(eqx.Module):
    """The law of outcomes in each class, for every query."""

    @abc.abstractmethod
    def log_likelihood(
        self, query: Index, outcome: Float[Array, "outcome"]
    ) -> Float[Array, "classes"]:
        """Of one outcome, in every class."""

    @property
    @abc.abstractmethod
    def cells(self) -> Float[Array, "queries cells classes"] | None:
        """Probability of each of few outcomes, or ranges of outcomes, if known."""

    @abc.abstractmethod
    def separation(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        """About how much each query tells of the class, where there are no cells."""


class SymbolTable(AbstractOutcomes):
    """Outcomes that take few values, each a symbol."""

    symbols: Float[Array, "cells outcome"]
    log_probability: Float[Array, "queries cells classes"]

    def log_likelihood(
        self, query: Index, outcome: Float[Array, "outcome"]
    ) -> Float[Array, "classes"]:
        """The row of the nearest symbol."""
        distance = jnp.sum(jnp.square(self.symbols - outcome[None]), axis=1)
        return self.log_probability[query, jnp.argmin(distance)]

    @property
    def cells(self) -> Float[Array, "queries cells classes"]:
        return jnp.exp(self.log_probability)

    def separation(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        raise NotImplementedError


class GaussianTable(AbstractOutcomes):
    """Outcomes of one or several numbers, independent and Gaussian.

    Where an outcome is one number, `cell_probability` are those of ranges of it.
    """

    mean: Float[Array, "queries outcome classes"]
    variance: Float[Array, "queries outcome classes"]
    cell_probability: Float[Array, "queries cells classes"] | None

    def log_likelihood(
        self, query: Index, outcome: Float[Array, "outcome"]
    ) -> Float[Array, "classes"]:
        """The sum over the numbers."""
        return gaussian_log_density(
            outcome[:, None], self.mean[query], self.variance[query]
        ).sum(axis=0)

    @property
    def cells(self) -> Float[Array, "queries cells classes"] | None:
        return self.cell_probability

    def separation(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        """The sum over the numbers of log(1 + spread of means / noise) / 2."""
        return _gaussian_separation(weights, self.mean, self.variance).sum(axis=-1)


class RangeTable(AbstractOutcomes):
    """Outcomes of one or several numbers, independent, each with any law.

    A number is known by the range it lies in; `edges` cut the ranges of each query.
    """

    edges: Float[Array, "queries outcome cuts"]
    log_probability: Float[Array, "queries outcome cells classes"]

    def log_likelihood(
        self, query: Index, outcome: Float[Array, "outcome"]
    ) -> Float[Array, "classes"]:
        """The sum over the numbers."""
        cell = jnp.sum(outcome[:, None] > self.edges[query], axis=1)
        each = jnp.arange(outcome.shape[0])
        return self.log_probability[query, each, cell].sum(axis=0)

    @property
    def cells(self) -> Float[Array, "queries cells classes"] | None:
        if self.log_probability.shape[1] > 1:
            return None
        return jnp.exp(self.log_probability[:, 0])

    def separation(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        """The sum over the numbers of what each tells."""
        num_queries, size, num_cells, num_classes = self.log_probability.shape
        shape = (num_queries * size, num_cells, num_classes)
        cells = jnp.exp(self.log_probability).reshape(shape)
        each = mutual_information(weights, cells)
        return each.reshape(*weights.shape[:-1], num_queries, size).sum(axis=-1)


class FlaggedTable(AbstractOutcomes):
    """Numbers about the same things whatever the query, some of them revealed.

    The second half of an outcome tells which (`TaskSpec.outcome_flags`); `revealed` is
    the probability of that for each query.
    """

    mean: Float[Array, "entries classes"]
    variance: Float[Array, "entries classes"]
    revealed: Float[Array, "queries entries"]

    def log_likelihood(
        self, query: Index, outcome: Float[Array, "outcome"]
    ) -> Float[Array, "classes"]:
        """The sum over the numbers that were revealed."""
        values, flags = jnp.split(outcome, 2)
        density = gaussian_log_density(values[:, None], self.mean, self.variance)
        return jnp.sum(flags[:, None] * density, axis=0)

    @property
    def cells(self) -> None:
        return None

    def separation(
        self, weights: Float[Array, "*batch classes"]
    ) -> Float[Array, "*batch queries"]:
        """What each number tells, times the probability that it is revealed."""
        each = _gaussian_separation(weights, self.mean[None], self.variance[None])
        return jnp.matmul(each[..., 0, :], self.revealed.T, precision=HIGHEST)


def gaussian_log_density(
    x: Float[Array, "*#shape"],
    mean: Float[Array, "*shape"],
    variance: Float[Array, "*shape"],
) -> Float[Array, "*shape"]:
    """Of N(mean, variance) at x, up to the constant that all share."""
    return -0.5 * (jnp.square(x - mean) / variance + jnp.log(variance))


def _gaussian_separation(
    weights: Float[Array, "*batch classes"],
    mean: Float[Array, "queries outcome classes"],
    variance: Float[Array, "queries outcome classes"],
) -> Float[Array, "*batch queries outcome"]:
    """log(1 + variance of the class means / mean variance) / 2, number by number."""
    centered = mean - jnp.mean(mean, axis=-1, keepdims=True)
    first, second, noise = (
        mix(weights, table) for table in (centered, jnp.square(centered), variance)
    )
    spread = jnp.maximum(second - jnp.square(first), 0.0)
    return 0.5 * jnp.log1p(spread / noise)


def kind_and_cells(table: AbstractOutcomes) -> tuple[str, int]:
    """What a file calls a table, and how many cells it has; 0 if none."""
    cells = 0 if table.cells is None else table.cells.shape[1]
    if isinstance(table, RangeTable):
        cells = table.log_probability.shape[2]
    return _KINDS[type(table)], cells


_KINDS = {
    SymbolTable: "symbols",
    GaussianTable: "gaussian",
    RangeTable: "ranges",
    FlaggedTable: "flagged",
}


def empty_table(
    kind: str, queries: int, outcome: int, cells: int, classes: int
) -> AbstractOutcomes:
    """A table of these sizes that says nothing."""
    if kind == "symbols":
        symbols = jnp.zeros((cells, outcome))
        return SymbolTable(symbols, jnp.zeros((queries, cells, classes)))
    if kind == "gaussian":
        moments = jnp.ones((queries, outcome, classes))
        ranges = jnp.ones((queries, cells, classes)) if cells else None
        return GaussianTable(moments, moments, ranges)
    if kind == "ranges":
        edges = jnp.zeros((queries, outcome, cells - 1))
        return RangeTable(edges, jnp.zeros((queries, outcome, cells, classes)))
    if kind != "flagged":
        raise ValueError(f"its kind of predictions {kind!r} is not known")
    entries = jnp.ones((outcome // 2, classes))
    return FlaggedTable(entries, entries, jnp.ones((queries, outcome // 2)))


def mutual_information(
    weights: Float[Array, "*batch classes"],
    cells: Float[Array, "queries cells classes"],
) -> Float[Array, "*batch queries"]:
    """Of the class and the cell of each query, in nats (Lindley 1956)."""
    num_queries, num_cells, num_classes = cells.shape
    flat = cells.reshape(num_queries * num_cells, num_classes)
    conditional = jnp.sum(entr(cells), axis=1)
    # One product: with a narrow matrix alone, a GPU takes a hundred times as long.
    both = jnp.concatenate([flat, conditional])
    product = jnp.matmul(weights, both.T, precision=precision_for(cells))
    mixed, left = product[..., :-num_queries], product[..., -num_queries:]
    mixed = mixed.reshape(*weights.shape[:-1], num_queries, num_cells)
    return jnp.maximum(jnp.sum(entr(mixed), axis=-1) - left, 0.0)


def mix(
    weights: Float[Array, "*batch classes"],
    cells: Float[Array, "queries cells classes"],
) -> Float[Array, "*batch queries cells"]:
    """Probability of each cell of each query under the weights."""
    num_queries, num_cells, num_classes = cells.shape
    flat = cells.reshape(num_queries * num_cells, num_classes)
    mixed = jnp.matmul(weights, flat.T, precision=precision_for(cells))
    return mixed.reshape(*weights.shape[:-1], num_queries, num_cells)


def precision_for(cells) -> lax.Precision | None:
    """True float32 unless that would dominate everything else."""
    return HIGHEST if cells.size <= 2**20 else None
