"""Tiny families whose optimum is known, to test learners, explorers and rollouts.

Each exercises one part of the contract, and its `optimal_value` is the largest
possible P(correct) - price * cost within `max_queries` queries.
"""

import functools as ft

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least, check_positive
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec


class TwoDoors(AbstractTaskFamily):
    """A prize behind one of two doors; peeking tells which, knocking tells nothing.

    A peek is right with probability `reliability`, independently of the others. With
    reliability 1 the optimum at a price c is max(1/2, 1 - c): one peek if c < 1/2, no
    query otherwise. With less it is the truncated sequential probability ratio test,
    solved by backward induction on the lead of one door over the other.
    """

    reliability: float = parameter(1.0, "probability that a peek is right")
    horizon: int = parameter(4, "most queries in an episode")

    def __check_init__(self):
        check_at_least("horizon", self.horizon, 1)
        if not 0.5 < self.reliability <= 1.0:
            raise InvalidParameterError(
                "reliability must be more than 0.5 and at most 1; "
                f"got {self.reliability}."
            )

    @property
    def spec(self) -> TaskSpec:
        """Query 0 peeks, query 1 knocks."""
        return TaskSpec(
            num_queries=2,
            num_hypotheses=2,
            outcome_size=1,
            horizon=self.horizon,
            query_names=("peek", "knock"),
            hypothesis_names=("left", "right"),
        )

    def optimal_value(self, *, price: float, max_queries: int | None = None) -> float:
        """Backward induction on the lead; knocking is never worth its price."""
        odds = self.reliability / (1.0 - self.reliability + 1e-300)

        @ft.cache
        def value(lead: int, left: int) -> float:
            leader = 1.0 / (1.0 + odds ** -abs(lead))
            if left == 0:
                return leader
            up = leader * self.reliability + (1 - leader) * (1 - self.reliability)
            lead = abs(lead)
            peek = up * value(lead + 1, left - 1)
            if up < 1.0:
                peek += (1 - up) * value(lead - 1, left - 1)
            return max(leader, peek - price)

        return value(0, self.horizon if max_queries is None else max_queries)

    def sample_task(self, *, key: PRNGKey) -> Index:
        return jr.randint(key, (), 0, 2)

    def reset(self, task: Index, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Index, *, key: PRNGKey
    ) -> StepResult:
        """A peek gives -1 for left and +1 for right; a knock gives 0."""
        right = jr.uniform(key) < self.reliability
        sign = jnp.where(right, 1.0, -1.0) * jnp.where(task == 1, 1.0, -1.0)
        return plain_step(self.spec, jnp.where(query == 0, sign, 0.0)[None])

    def hypothesis(self, task: Index) -> Index:
        """The door with the prize."""
        return task


class Lockers(AbstractTaskFamily):
    """A prize in one of several lockers, each of which may be opened once.

    With k unopened lockers left and none a hit the optimum at a price c is
    V(k) = max(1/k, -c + 1/k + (k-1)/k V(k-1)), V(1) = 1; with n queries for nothing
    it is min(1, (n + 1) / size). The horizon is larger than the number of lockers, so
    that an episode can run out of queries.
    """

    size: int = parameter(3, "number of lockers")

    def __check_init__(self):
        check_at_least("size", self.size, 2)

    @property
    def spec(self) -> TaskSpec:
        """A query opens a locker; the hypotheses are the lockers."""
        return TaskSpec(
            num_queries=self.size,
            num_hypotheses=self.size,
            outcome_size=1,
            horizon=self.size + 2,
            masks_queries=True,
        )

    def optimal_value(self, *, price: float, max_queries: int | None = None) -> float:
        """Backward induction on the number of unopened lockers."""
        cap = self.spec.horizon if max_queries is None else max_queries
        opened = min(cap, self.size - 1)
        value = 1.0 / (self.size - opened)
        for k in range(self.size - opened + 1, self.size + 1):
            value = max(1.0 / k, 1.0 / k + (k - 1) / k * value - price)
        return value

    def sample_task(self, *, key: PRNGKey) -> Index:
        return jr.randint(key, (), 0, self.size)

    def reset(self, task: Index, *, key: PRNGKey) -> StepResult:
        """All lockers are closed."""
        closed = jnp.ones(self.size, bool)
        return StepResult(closed, jnp.zeros(1), closed, jnp.asarray(False))

    def step(
        self, state: Bool[Array, "lockers"], query: Index, task: Index, *, key: PRNGKey
    ) -> StepResult:
        """Shows whether the prize is in the locker, which then stays open."""
        closed = state.at[query].set(False)
        outcome = (query == task).astype(jnp.float32)[None]
        return StepResult(closed, outcome, closed, jnp.asarray(False))

    def hypothesis(self, task: Index) -> Index:
        """The locker with the prize."""
        return task


class Corridor(AbstractTaskFamily):
    """A corridor with two exits and a sign; only leaving ends the episode.

    The explorer cannot stop: it must leave by an exit (which reveals nothing) or wait
    for the horizon. Reading the sign first is right for sure, so the optimum at a
    price c is max(1 - 2 c, 1/2 - c): read if c < 1/2.
    """

    horizon: int = parameter(4, "most queries in an episode")

    def __check_init__(self):
        check_at_least("horizon", self.horizon, 1)

    @property
    def spec(self) -> TaskSpec:
        """Queries 0 and 1 leave, query 2 reads the sign."""
        return TaskSpec(
            num_queries=3,
            num_hypotheses=2,
            outcome_size=1,
            horizon=self.horizon,
            can_stop=False,
            query_names=("leave left", "leave right", "read the sign"),
            hypothesis_names=("left", "right"),
        )

    def optimal_value(self, *, price: float, max_queries: int | None = None) -> float:
        """Read and leave, or leave at once; a cap of 1 ends the episode after reading.

        A single query is paid for in any case, and reading is the better one.
        """
        if max_queries == 1 or self.horizon == 1:
            return 1.0 - price
        return max(1.0 - 2.0 * price, 0.5 - price)

    def sample_task(self, *, key: PRNGKey) -> Index:
        """Chooses what the sign says."""
        return jr.randint(key, (), 0, 2)

    def reset(self, task: Index, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Index, *, key: PRNGKey
    ) -> StepResult:
        """The sign gives -1 for left and +1 for right; leaving gives 0."""
        sign = 2.0 * task.astype(jnp.float32) - 1.0
        return StepResult(
            state=None,
            outcome=jnp.where(query == 2, sign, 0.0)[None],
            query_mask=jnp.ones(3, bool),
            terminated=query < 2,
        )

    def hypothesis(self, task: Index) -> Index:
        """The side that the sign points to."""
        return task


class Hint(AbstractTaskFamily):
    """Several boxes of which one holds the answer; the first outcome says which box.

    An outcome is (one-hot of the box with the answer, answer): the first part comes at
    reset, the second from opening that box. An explorer that reads its first outcome
    needs one query, so the optimum at a price c is max(1/2, 1 - c).
    """

    num_boxes: int = parameter(3, "number of boxes")
    horizon: int = parameter(4, "most queries in an episode")

    def __check_init__(self):
        check_at_least("num_boxes", self.num_boxes, 1)
        check_at_least("horizon", self.horizon, 1)

    @property
    def spec(self) -> TaskSpec:
        """A query opens a box; the hypotheses are the two answers."""
        return TaskSpec(
            num_queries=self.num_boxes,
            num_hypotheses=2,
            outcome_size=self.num_boxes + 1,
            horizon=self.horizon,
        )

    def optimal_value(self, *, price: float, max_queries: int | None = None) -> float:
        """Open the box of the hint, or guess."""
        return max(0.5, 1.0 - price)

    def sample_task(self, *, key: PRNGKey) -> Int[Array, "2"]:
        """Draws the box and the answer."""
        box_key, answer_key = jr.split(key)
        box = jr.randint(box_key, (), 0, self.num_boxes)
        return jnp.stack([box, jr.randint(answer_key, (), 0, 2)])

    def reset(self, task: Int[Array, "2"], *, key: PRNGKey) -> StepResult:
        """Reveals the box with the answer."""
        box = (jnp.arange(self.num_boxes) == task[0]).astype(jnp.float32)
        return plain_step(self.spec, jnp.append(box, 0.0))

    def step(
        self, state: None, query: Index, task: Int[Array, "2"], *, key: PRNGKey
    ) -> StepResult:
        """The right box gives -1 or +1 in the last entry, the others zeros."""
        answer = jnp.where(query == task[0], 2.0 * task[1].astype(jnp.float32) - 1, 0.0)
        return plain_step(self.spec, jnp.zeros(self.num_boxes + 1).at[-1].set(answer))

    def hypothesis(self, task: Int[Array, "2"]) -> Index:
        return task[1]


class TwoBits(AbstractTaskFamily):
    """Two hidden bits: one of them for 1, the other for 1, or both at a discount.

    The optimum at a price c is max(1/4, 1/2 - c, 1 - both_cost * c) where both_cost
    lies in [1, 2]: buying both together beats buying them one by one.
    """

    both_cost: float = parameter(1.5, "cost of seeing both bits at once")

    def __check_init__(self):
        check_positive("both_cost", self.both_cost)
        if not 1.0 <= self.both_cost <= 2.0:
            raise InvalidParameterError(
                f"both_cost must be between 1 and 2; got {self.both_cost}."
            )

    @property
    def spec(self) -> TaskSpec:
        """The hypotheses are the four values of the bits."""
        return TaskSpec(
            num_queries=3,
            num_hypotheses=4,
            outcome_size=2,
            horizon=3,
            costs=(1.0, 1.0, self.both_cost),
            query_names=("low bit", "high bit", "both bits"),
        )

    def optimal_value(self, *, price: float, max_queries: int | None = None) -> float:
        """Nothing, one bit, or both at once."""
        return max(0.25, 0.5 - price, 1.0 - self.both_cost * price)

    def sample_task(self, *, key: PRNGKey) -> Index:
        return jr.randint(key, (), 0, 4)

    def reset(self, task: Index, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Index, *, key: PRNGKey
    ) -> StepResult:
        """Each bit that was asked for as -1 or +1, 0 for the other."""
        bits: Float[Array, "2"] = jnp.stack([task % 2, task // 2]).astype(jnp.float32)
        asked = (jnp.arange(2) == query) | (query == 2)
        return plain_step(self.spec, jnp.where(asked, 2.0 * bits - 1.0, 0.0))

    def hypothesis(self, task: Index) -> Index:
        """The number whose bits they are."""
        return task
