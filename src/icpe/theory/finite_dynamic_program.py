"""Exact optimal policies of small finite models, in both regimes.

Backward induction over the counts of outcomes, which are a sufficient statistic. The
paper proves that the greedy policy of the optimal Q-function attains this optimum
(appendix, propositions on the optimal policy in the fixed-budget and in the
fixed-confidence setting; price = 1 / lambda). No policy, random or not, does better on
average over the prior.
"""

import dataclasses
import functools as ft
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from icpe.core.checks import check_at_least, check_positive
from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError
from icpe.theory.finite_model import FiniteModel

Counts = tuple[int, ...]

_MAX_STATES = 1_000_000
_TOLERANCE = 1e-12


@dataclasses.dataclass(frozen=True)
class Solution:
    """An optimal policy and what it attains.

    `policy` maps the counts of outcomes, flattened over queries then outcomes, to the
    query to make next, or to `STOP`. `query_values` maps them to the optimal Q-value of
    each query. Both hold what any sequence of queries can reach before the last step.
    """

    accuracy: float
    mean_cost: float
    policy: dict[Counts, int]
    query_values: dict[Counts, Float[np.ndarray, "queries"]]


@dataclasses.dataclass(frozen=True)
class FixedConfidenceSolution:
    """The cheapest policy whose error probability is small enough on average.

    It follows `accurate` with probability `share_accurate` and else `cheap`; both are
    optimal at `price`, which is 1 / lambda of the dual problem.
    """

    price: float
    cheap: Solution
    accurate: Solution
    share_accurate: float

    @property
    def accuracy(self) -> float:
        """The probability that the mixture is right."""
        return self._mix(self.cheap.accuracy, self.accurate.accuracy)

    @property
    def mean_cost(self) -> float:
        """The expected cost of the mixture."""
        return self._mix(self.cheap.mean_cost, self.accurate.mean_cost)

    def _mix(self, cheap: float, accurate: float) -> float:
        return cheap + self.share_accurate * (accurate - cheap)


def solve_budget(model: FiniteModel, budget: int) -> Solution:
    """Maximizes P(correct) after exactly `budget` queries.

    Raises:
        InvalidParameterError: the budget is not positive or the program too large.
    """
    check_at_least("budget", budget, 1)
    return _solve(model, price=0.0, max_queries=budget, costs=None, can_stop=False)


def solve_price(
    model: FiniteModel,
    price: float,
    max_queries: int,
    costs: Sequence[float] | None = None,
) -> Solution:
    """Maximizes P(correct) - price * E[cost] with at most `max_queries` queries.

    Among equally good policies the one of smallest cost is chosen.

    Raises:
        InvalidParameterError: a number is not positive or the program too large.
    """
    check_positive("price", price)
    check_at_least("max_queries", max_queries, 1)
    return _solve(model, price, max_queries, costs, can_stop=True)


def solve_error_prob(
    model: FiniteModel,
    error_prob: float,
    max_queries: int,
    costs: Sequence[float] | None = None,
) -> FixedConfidenceSolution:
    """Minimizes E[cost] subject to P(error) <= error_prob.

    At most `max_queries` queries are made. Solves the dual: the corner of the frontier
    of accuracy and cost is found by solving at the slope between the two best policies
    known, until nothing lies above the line between them. Randomizing between the two
    meets the constraint exactly.

    Raises:
        InvalidParameterError: no policy errs so rarely with so few queries.
    """
    check_at_least("max_queries", max_queries, 1)
    target = 1.0 - error_prob
    accurate = _solve(model, 0.0, max_queries, costs, can_stop=True)
    cheap = _stop_at_once(model)
    if accurate.accuracy < target - _TOLERANCE:
        raise InvalidParameterError(
            f"error_prob must be at least {1.0 - accurate.accuracy:.6g}, what the best "
            f"policy reaches with max_queries={max_queries}; got {error_prob}."
        )
    if cheap.accuracy >= target:
        return FixedConfidenceSolution(math.inf, cheap, cheap, 0.0)
    while True:
        rise = accurate.accuracy - cheap.accuracy
        price = rise / (accurate.mean_cost - cheap.mean_cost)
        middle = _solve(model, price, max_queries, costs, can_stop=True)
        gain = (middle.accuracy - cheap.accuracy) - price * (
            middle.mean_cost - cheap.mean_cost
        )
        if gain <= 10 * _TOLERANCE:
            share = min(1.0, (target - cheap.accuracy) / rise)
            return FixedConfidenceSolution(price, cheap, accurate, share)
        if middle.accuracy >= target:
            accurate = middle
        else:
            cheap = middle


class _Value(NamedTuple):
    """Expectations from some counts on, times the probability of their sequence."""

    weight: float
    correct: float
    cost: float

    def at(self, price: float) -> float:
        return self.correct - price * self.cost


def _stop_at_once(model: FiniteModel) -> Solution:
    tables = _Tables.of(model, max_queries=0, costs=None)
    accuracy = float(tables.by_hypothesis(tables.prior).max())
    return Solution(accuracy, 0.0, {tables.no_counts: STOP}, {})


def _solve(
    model: FiniteModel,
    price: float,
    max_queries: int,
    costs: Sequence[float] | None,
    can_stop: bool,
) -> Solution:
    price = float(price)
    tables = _Tables.of(model, max_queries, costs)
    policy: dict[Counts, int] = {}
    query_values: dict[Counts, np.ndarray] = {}

    @ft.cache
    def solve(counts: Counts) -> _Value:
        joint = tables.joint(counts)
        weight = float(joint.sum())
        stopped = _Value(weight, float(tables.by_hypothesis(joint).max()), 0.0)
        if sum(counts) == max_queries or weight == 0.0:
            return stopped
        options = [
            _sum(tables.costs[query], weight, map(solve, children))
            for query, children in enumerate(tables.children(counts))
        ]
        query_values[counts] = np.array([o.at(price) for o in options]) / weight
        best, choice = (stopped, STOP) if can_stop else (options[0], 0)
        for query, option in enumerate(options):
            if _is_better(option, best, price):
                best, choice = option, query
        policy[counts] = choice
        return best

    root = solve(tables.no_counts)
    return Solution(root.correct, root.cost, policy, query_values)


def _is_better(new: _Value, old: _Value, price: float) -> bool:
    """A larger value, or the same at a smaller cost."""
    margin = _TOLERANCE * new.weight
    gain = new.at(price) - old.at(price)
    return gain > margin or (gain > -margin and new.cost < old.cost - margin)


def _sum(cost: float, weight: float, values) -> _Value:
    values = list(values)
    return _Value(
        weight,
        sum(value.correct for value in values),
        cost * weight + sum(value.cost for value in values),
    )


class _Tables(NamedTuple):
    """The model as plain arrays, with what the induction asks of it."""

    prior: np.ndarray
    likelihood: np.ndarray
    hypotheses: np.ndarray
    costs: Sequence[float]

    @staticmethod
    def of(
        model: FiniteModel, max_queries: int, costs: Sequence[float] | None
    ) -> "_Tables":
        likelihood = np.exp(np.asarray(model.log_likelihood, float))
        _, num_queries, num_outcomes = likelihood.shape
        num_cells = num_queries * num_outcomes
        num_states = math.comb(num_cells + max_queries, max_queries)
        if num_states > _MAX_STATES:
            raise InvalidParameterError(
                f"The dynamic program may have at most {_MAX_STATES} states; "
                f"{num_queries} queries with {num_outcomes} outcomes and {max_queries} "
                f"steps have {num_states}; ask for fewer steps."
            )
        each = [1.0] * num_queries if costs is None else [float(c) for c in costs]
        if len(each) != num_queries or min(each) <= 0:
            raise InvalidParameterError(
                f"costs must be {num_queries} positive numbers, one for each query; "
                f"got {each}."
            )
        return _Tables(
            np.exp(np.asarray(model.log_prior, float)),
            likelihood,
            np.asarray(model.hypotheses),
            each,
        )

    @property
    def num_queries(self) -> int:
        return self.likelihood.shape[1]

    @property
    def num_outcomes(self) -> int:
        return self.likelihood.shape[2]

    @property
    def no_counts(self) -> Counts:
        return (0,) * (self.num_queries * self.num_outcomes)

    def joint(self, counts: Counts) -> np.ndarray:
        """Probability of each task together with one sequence of these counts."""
        shape = self.likelihood.shape[1:]
        powers = self.likelihood ** np.reshape(counts, shape)
        return self.prior * powers.prod(axis=(1, 2))

    def by_hypothesis(self, joint: np.ndarray) -> np.ndarray:
        return np.bincount(self.hypotheses, joint)

    def children(self, counts: Counts) -> list[list[Counts]]:
        """The counts after each outcome of each query."""
        return [
            [
                (*counts[:cell], counts[cell] + 1, *counts[cell + 1 :])
                for cell in range(q * self.num_outcomes, (q + 1) * self.num_outcomes)
            ]
            for q in range(self.num_queries)
        ]
