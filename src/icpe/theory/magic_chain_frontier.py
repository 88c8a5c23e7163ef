"""The Bayes optimum of the deterministic magic chain, regular values included.

Regular arms have independent uniform values. Given the largest of those seen, at
quantile m, and q regular arms not yet seen, the largest seen arm is the best with
probability m^q, and each unseen one with probability (1 - m^q) / q. So what is known of
the chain and m are a sufficient state, and a dynamic program over it is exact up to the
grid on which m is kept.
"""

import functools as ft
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from icpe.core.checks import check_at_least
from icpe.theory.frontier import Frontier
from icpe.theory.magic_chain import checked_chain
from icpe.theory.magic_chain_knowledge import Knowledge, Pull

Prices = Float[np.ndarray, "prices"]
Table = Float[np.ndarray, "prices values"]

STOP = -1


class ChainTables(NamedTuple):
    """The optimum from one state of knowledge on, for all prices and largest values.

    `value`, `pulls` and `correct` are expectations times `weight`, the probability of
    the state up to a constant. `choice` is the index of the pull, or -1 to stop.
    """

    weight: Float[np.ndarray, "values"]
    value: Table
    pulls: Table
    correct: Table
    choice: Int[np.ndarray, "prices values"]


def magic_chain_frontier(
    num_arms: int, num_magic: int, prices: Prices, num_values: int = 201
) -> Frontier:
    """The Bayes optimum at each price: the limit of every explorer on this family.

    Args:
        num_arms: number K of arms.
        num_magic: number n of magic arms, arm 0 the first of them.
        prices: price of a pull, in units of probability; all positive.
        num_values: points of the grid of the largest value seen. The error falls
            with the square of the spacing.
    """
    solve = magic_chain_solver(num_arms, num_magic, prices, num_values)
    root = solve(Knowledge())
    return Frontier(
        prices=np.asarray(prices, float),
        mean_cost=root.pulls[:, 0] / root.weight[0],
        accuracy=root.correct[:, 0] / root.weight[0],
    )


def magic_chain_solver(
    num_arms: int, num_magic: int, prices: Prices, num_values: int
) -> Callable[[Knowledge], ChainTables]:
    """The dynamic program itself: from knowledge to its tables.

    While no regular arm was seen, only the tables' first column (m = 0) has a meaning.
    """
    check_at_least("num_values", num_values, 2)
    chain = checked_chain(num_arms, num_magic)
    largest = np.linspace(0.0, 1.0, num_values)
    cost = np.asarray(prices, float)[:, None]

    @ft.cache
    def solve(known: Knowledge) -> ChainTables:
        num_unseen = chain.num_regular - known.seen
        seen_is_best = largest**num_unseen
        unseen_is_best = (1.0 - seen_is_best) / max(num_unseen, 1)
        count = chain.candidates(known)
        weight = count.unseen * unseen_is_best + count.seen * seen_is_best
        stop = np.maximum(
            count.likeliest_unseen * unseen_is_best, count.seen * seen_is_best
        )
        value = np.broadcast_to(stop, (cost.size, num_values))
        tables = ChainTables(
            weight, value, 0.0 * value, value, np.full(value.shape, STOP)
        )
        if np.allclose(stop, weight, rtol=1e-12, atol=0.0):
            return tables
        for index, pull in enumerate(chain.pulls(known)):
            settled = (
                pull.names_unseen * unseen_is_best + pull.names_seen * seen_is_best
            )
            pulled = ChainTables(
                weight,
                _after(pull, solve, "value") + settled - cost * weight,
                _after(pull, solve, "pulls") + weight,
                _after(pull, solve, "correct") + settled,
                np.full(value.shape, index),
            )
            better = pulled.value > tables.value + 1e-12 * weight
            tables = ChainTables(
                weight,
                *(
                    np.where(better, new, old)
                    for new, old in zip(pulled[1:], tables[1:], strict=True)
                ),
            )
        return tables

    def _after(pull: Pull, solve, field: str) -> Table:
        """Expectation of a table after the pull, over everything it may show."""
        total = np.zeros((cost.size, num_values))
        for many, known in pull.magic:
            total = total + many * getattr(solve(known), field)
        if pull.regular is not None:
            table = getattr(solve(pull.regular), field)
            total = total + largest * table + _integral_to_the_end(table, largest)
        return total

    return solve


def _integral_to_the_end(table: Table, grid: Float[np.ndarray, "values"]) -> Table:
    """The trapezoidal integral of each row from each grid point to the last."""
    areas = 0.5 * (table[:, 1:] + table[:, :-1]) * np.diff(grid)
    sums = np.cumsum(areas[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([sums, np.zeros((table.shape[0], 1))], axis=1)
