"""Binary search: find a number among K by guessing, with and without lies."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    TaskSpec,
    parameter,
    plain_reset,
    plain_step,
)

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


class NoisyBinarySearch(AbstractTaskFamily):
    """Binary search with answers that are sometimes wrong.

    As in `binary-search` the right answer to a guess is -1 lower, 0 a hit or +1
    higher. With probability `noise` one of the two other answers is given instead,
    both equally likely, independently at every query.
    """

    size: int = parameter(8, "how many numbers there are")
    noise: float = parameter(0.1, "probability that an answer is wrong")
    horizon: int = parameter(0, "most queries in an episode; 0 means 10 * log2(size)")

    def __check_init__(self):
        check_at_least("size", self.size, 2)
        check_at_least("horizon", self.horizon, 0)
        if not 0.0 <= self.noise < 2.0 / 3.0:
            raise InvalidParameterError(
                f"noise must be at least 0 and less than 2/3, where answers carry no "
                f"information; got {self.noise}."
            )

    @property
    def spec(self) -> TaskSpec:
        """That of binary search, with a longer horizon."""
        horizon = self.horizon or 10 * (self.size - 1).bit_length()
        return BinarySearch(self.size, horizon).spec

    def sample_task(self, *, key: PRNGKey) -> Number:
        """Draws the number."""
        return jr.randint(key, (), 0, self.size)

    def reset(self, task: Number, *, key: PRNGKey) -> StepResult:
        """Reveals nothing."""
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Number, *, key: PRNGKey
    ) -> StepResult:
        """Compares the number with the guess, and sometimes lies."""
        draw = jr.uniform(key)
        # The answers are cyclic: the right one, or one or two places further.
        turn = (draw < self.noise).astype(jnp.int32)
        turn += (draw < self.noise / 2).astype(jnp.int32)
        answer = (jnp.sign(task - query) + 1 + turn) % 3 - 1
        return plain_step(self.spec, answer.astype(jnp.float32)[None])

    def hypothesis(self, task: Number) -> Index:
        """The number itself."""
        return task
