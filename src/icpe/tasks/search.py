"""Binary search: find a number among K by guessing."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int

from icpe.tasks.base import (
    AbstractTaskFamily,
    StepResult,
    TaskSpec,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.types import Index, PRNGKey, check_at_least

Number = Int[Array, ""]


class BinarySearch(AbstractTaskFamily):
    """A number is drawn uniformly from 0..size-1; a query guesses it.

    The outcome is the sign of (number - guess): -1 lower, 0 a hit, +1 higher.
    """

    size: int = parameter(8, "how many numbers there are")
    horizon: int = parameter(0, "most queries in an episode; 0 means twice log2(size)")

    def __check_init__(self):
        check_at_least("size", self.size, 2)
        check_at_least("horizon", self.horizon, 0)

    @property
    def spec(self) -> TaskSpec:
        """Queries and hypotheses are the numbers."""
        return TaskSpec(
            num_queries=self.size,
            num_hypotheses=self.size,
            outcome_size=1,
            horizon=self.horizon or 2 * (self.size - 1).bit_length(),
            outcome_names=("number against guess",),
            outcome_labels=(("lower", (-1.0,)), ("hit", (0.0,)), ("higher", (1.0,))),
            question="Is your number {query}? Answer lower, hit or higher.",
        )

    def sample_task(self, *, key: PRNGKey) -> Number:
        """Draws the number."""
        return jr.randint(key, (), 0, self.size)

    def reset(self, task: Number, *, key: PRNGKey) -> StepResult:
        """Reveals nothing."""
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Number, *, key: PRNGKey
    ) -> StepResult:
        """Compares the number with the guess."""
        sign = jnp.sign(task - query).astype(jnp.float32)
        return plain_step(self.spec, sign[None])

    def hypothesis(self, task: Number) -> Index:
        """The number itself."""
        return task
