"""Exact optimal policies of small finite models, in both regimes.

Backward induction over the beliefs that some sequence of queries can reach
(`icpe.theory.belief_graph`). The paper proves that the greedy policy of the optimal
Q-function attains this optimum (appendix, propositions on the optimal policy in the
fixed-budget and in the fixed-confidence setting; price = 1 / lambda). No policy, random
or not, does better on average over the prior.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from icpe.core.checks import check_at_least, check_positive
from icpe.core.errors import InvalidParameterError
from icpe.theory.belief_graph import BeliefGraph, grow
from icpe.theory.finite_model import FiniteModel

_TOLERANCE = 1e-12
_SETTLED = 1e-14
_PRICE_FACTOR = 4.0
_FIRST_PRICE = 1e-3


@dataclasses.dataclass(frozen=True)
class Solution:
    """What an optimal policy attains on average over the prior."""

    accuracy: float
    mean_cost: float


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
        InvalidParameterError: the budget is not positive.
        TooManyBeliefsError: the program is too large.
    """
    check_at_least("budget", budget, 1)
    graph = grow(model, budget, sure_enough=0.0)
    each = np.ones(graph.num_queries)
    accuracy = _optimum(graph, 0.0, budget, each).accuracy
    return Solution(accuracy, float(budget))


def solve_price(
    model: FiniteModel,
    price: float,
    max_queries: int,
    costs: Sequence[float] | None = None,
    *,
    ask_once: bool = False,
) -> Solution:
    """Maximizes P(correct) - price * E[cost] with at most `max_queries` queries.

    It stops where going on is not better.

    Args:
        model: the tasks.
        price: of one unit of cost.
        max_queries: most queries of an episode.
        costs: of each query; 1 each if None.
        ask_once: whether each query can be made once.

    Raises:
        InvalidParameterError: a number is not positive.
        TooManyBeliefsError: the program is too large.
    """
    check_positive("price", price)
    check_at_least("max_queries", max_queries, 1)
    each = _each_cost(model, costs)
    # A belief whose doubt is not worth the cheapest query is one to stop at.
    graph = grow(model, max_queries, float(price) * each.min(), ask_once=ask_once)
    return _optimum(graph, float(price), max_queries, each)


def solve_error_prob(
    model: FiniteModel,
    error_prob: float,
    max_queries: int,
    costs: Sequence[float] | None = None,
    *,
    ask_once: bool = False,
) -> FixedConfidenceSolution:
    """Minimizes E[cost] subject to P(error) <= error_prob.

    At most `max_queries` queries are made. Solves the dual: the corner of the frontier
    of accuracy and cost is found by solving at the slope between the two best policies
    known, until nothing lies above the line between them. Randomizing between the two
    meets the constraint exactly.

    Raises:
        InvalidParameterError: no policy errs so rarely with so few queries.
        TooManyBeliefsError: the program is too large.
    """
    check_at_least("max_queries", max_queries, 1)
    target = 1.0 - error_prob
    each = _each_cost(model, costs)
    cheap = Solution(float(grow(model, 0, sure_enough=1.0).sure[0]), 0.0)
    if cheap.accuracy >= target:
        return FixedConfidenceSolution(math.inf, cheap, cheap, 0.0)
    graph, accurate = _accurate_enough(model, error_prob, max_queries, each, ask_once)
    while True:
        rise = accurate.accuracy - cheap.accuracy
        price = rise / (accurate.mean_cost - cheap.mean_cost)
        middle = _optimum(graph, price, max_queries, each)
        gain = (middle.accuracy - cheap.accuracy) - price * (
            middle.mean_cost - cheap.mean_cost
        )
        if gain <= 10 * _TOLERANCE:
            share = min(1.0, (target - cheap.accuracy) / rise)
            return FixedConfidenceSolution(price, cheap, accurate, share)
        if middle.accuracy >= target - _TOLERANCE:
            accurate = middle
        else:
            cheap = middle


def _accurate_enough(
    model: FiniteModel,
    error_prob: float,
    max_queries: int,
    costs: Float[np.ndarray, "queries"],
    ask_once: bool,
) -> tuple[BeliefGraph, Solution]:
    """A graph for some price at which the optimum errs rarely enough.

    It serves every larger price too. A graph that holds all reachable beliefs serves
    the price 0, whose optimum is the most accurate policy.
    """
    price = error_prob / 2 or _FIRST_PRICE
    while True:
        graph = grow(model, max_queries, price * costs.min(), ask_once=ask_once)
        if graph.is_complete:
            price = 0.0
        solution = _optimum(graph, price, max_queries, costs)
        if solution.accuracy >= 1.0 - error_prob - _TOLERANCE:
            return graph, solution
        if graph.is_complete:
            raise InvalidParameterError(
                f"error_prob must be at least {1.0 - solution.accuracy:.6g}, what the "
                f"best policy reaches with max_queries={max_queries}; got {error_prob}."
            )
        price /= _PRICE_FACTOR


def _optimum(
    graph: BeliefGraph,
    price: float,
    max_queries: int,
    costs: Float[np.ndarray, "queries"],
) -> Solution:
    """The optimum at the prior: values backwards, then what their policy attains."""
    values = _values(graph, price, max_queries, costs)
    weight = np.zeros_like(graph.sure)
    weight[0] = 1.0
    accuracy = mean_cost = 0.0
    for steps_left in range(max_queries, 0, -1):
        here = np.flatnonzero((weight > 0) & (graph.row >= 0))
        later = values[min(steps_left, len(values)) - 1]
        asked = _of_queries(graph, graph.row[here], later, price * costs)
        goes_on = asked.max(axis=1) > graph.sure[here] + _TOLERANCE
        here, query = here[goes_on], asked[goes_on].argmax(axis=1)
        row, moving = graph.row[here], weight[here]
        weight[here] = 0.0
        accuracy += float(weight @ graph.sure)
        mean_cost += float(moving @ costs[query])
        flow = moving[:, None] * graph.probability[row, query]
        weight = np.bincount(graph.child[row, query].ravel(), flow.ravel(), len(weight))
    accuracy += float(weight @ graph.sure)
    return Solution(accuracy, mean_cost)


def _values(
    graph: BeliefGraph,
    price: float,
    max_queries: int,
    costs: Float[np.ndarray, "queries"],
) -> list[Float[np.ndarray, "beliefs"]]:
    """The value of each belief with 0, 1, .. steps left, until it settles."""
    values = [graph.sure]
    for steps_left in range(1, max_queries + 1):
        number = graph.num_asking(max_queries - steps_left)
        rows, beliefs = slice(number), graph.asks[:number]
        best = _of_queries(graph, rows, values[-1], price * costs).max(axis=1)
        new = values[-1].copy()
        new[beliefs] = np.maximum(graph.sure[beliefs], best)
        moved = np.abs(new - values[-1]).max(initial=0.0)
        values.append(new)
        if moved <= _SETTLED:
            break
    return values


def _of_queries(
    graph: BeliefGraph,
    rows: Int[np.ndarray, "some"] | slice,
    later: Float[np.ndarray, "beliefs"],
    fees: Float[np.ndarray, "queries"],
) -> Float[np.ndarray, "some queries"]:
    """The value of each query, given the values of the beliefs after it."""
    after = later[graph.child[rows]]
    values = np.einsum("bqo,bqo->bq", graph.probability[rows], after) - fees
    return np.where(graph.allowed[rows], values, -np.inf)


def _each_cost(
    model: FiniteModel, costs: Sequence[float] | None
) -> Float[np.ndarray, "queries"]:
    num_queries = model.log_likelihood.shape[1]
    each = np.ones(num_queries) if costs is None else np.array(costs, float)
    if len(each) != num_queries or each.min() <= 0:
        raise InvalidParameterError(
            f"costs must be {num_queries} positive numbers, one for each query; "
            f"got {each.tolist()}."
        )
    return each
