"""Exact binary search: what is still possible, and the fewest queries."""

import functools as ft
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, Scalar
from icpe.core.checks import check_at_least


class VersionSpace(eqx.Module):
    """The numbers from `low` to `high`, which agree with all outcomes so far.

    It is empty (`low > high`) if the outcomes contradict one another.
    """

    low: Index
    high: Index

    @staticmethod
    def full(size: int) -> "VersionSpace":
        """All numbers 0..size-1."""
        return VersionSpace(jnp.zeros((), jnp.int32), jnp.asarray(size - 1, jnp.int32))

    @property
    def num_candidates(self) -> Index:
        """How many numbers are left."""
        return jnp.maximum(self.high - self.low + 1, 0)

    def narrow(self, query: Index, outcome: Scalar) -> "VersionSpace":
        """What is left after one more outcome: the sign of (number - query)."""
        query = query.astype(jnp.int32)
        below = jnp.where(outcome > 0, query + 1, query)
        above = jnp.where(outcome < 0, query - 1, query)
        return VersionSpace(
            jnp.where(outcome < 0, self.low, jnp.maximum(self.low, below)),
            jnp.where(outcome > 0, self.high, jnp.minimum(self.high, above)),
        )


def version_space(
    queries: Int[Array, "steps"], outcomes: Float[Array, "steps"], size: int
) -> VersionSpace:
    """The numbers that agree with every outcome, signs of (number - query)."""
    each = jax.vmap(VersionSpace.full(size).narrow)(queries, outcomes)
    return VersionSpace(
        jnp.max(each.low, initial=0), jnp.min(each.high, initial=size - 1)
    )


def interval_log_posterior(
    space: VersionSpace, size: int
) -> Float[Array, "hypotheses"]:
    """Log-posterior under a uniform prior: uniform over the version space.

    Contradictory outcomes have probability 0 under every number; the answer is then
    the prior.
    """
    numbers = jnp.arange(size, dtype=jnp.int32)
    inside = (numbers >= space.low) & (numbers <= space.high)
    inside = inside | (space.num_candidates == 0)
    return jnp.where(inside, -jnp.log(jnp.sum(inside).astype(jnp.float32)), -jnp.inf)


class SearchOptimum(NamedTuple):
    """The fewest queries that find a number among `size` without error.

    Attributes:
        mean_queries: for a number drawn uniformly.
        max_queries: in the worst case.
        splits: for m candidates, `splits[m]` is how many of them lie below the query.
    """

    mean_queries: float
    max_queries: int
    splits: np.ndarray


@ft.cache
def search_optimum(size: int) -> SearchOptimum:
    """Fewest queries by dynamic programming over the number m of candidates.

    A query with i candidates below it leaves i, 1 (a hit, its own outcome) or
    m - 1 - i of them, and one may stop without a hit when a single candidate is
    left, so that the sum of the queries over all numbers is

        T(m) = m + min_i [T(i) + T(m - 1 - i)],    T(0) = T(1) = 0.

    Among the optimal splits the one with the smallest worst case is taken; for every
    size up to 4096 this worst case is also the smallest of all strategies.
    """
    check_at_least("size", size, 1)
    total = np.zeros(size + 1, np.int64)
    worst = np.zeros(size + 1, np.int64)
    splits = np.zeros(size + 1, np.int32)
    for m in range(2, size + 1):
        below = np.arange((m + 1) // 2)
        totals = m + total[below] + total[m - 1 - below]
        worsts = 1 + np.maximum(worst[below], worst[m - 1 - below])
        splits[m] = np.lexsort((worsts, totals))[0]
        total[m], worst[m] = totals[splits[m]], worsts[splits[m]]
    return SearchOptimum(float(total[size] / size), int(worst[size]), splits)
