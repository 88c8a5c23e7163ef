"""Binary search with answers that are sometimes wrong."""

import jax.numpy as jnp
import jax.random as jr

from icpe.core.arrays import Index, PRNGKey
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    Limits,
    QueryAxis,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.binary_search import (
    FIRST_ANSWER,
    BinarySearch,
    Number,
    search_limits,
)
from icpe.families.finite import AbstractFiniteFamily, FiniteModelBelief
from icpe.theory.noisy_search import noisy_search_least_queries, noisy_search_model


class NoisyBinarySearch(AbstractFiniteFamily):
    """Binary search with answers that are sometimes wrong.

    As in `binary-search` the right answer to a guess is -1 lower, 0 a hit or +1
    higher. With probability `noise` one of the two other answers is given instead,
    both equally likely, independently at every query.
    """

    size: int = parameter(8, "how many numbers there are", at_least=2)
    noise: float = parameter(0.1, "probability that an answer is wrong")
    horizon: int = parameter(
        0, "most queries in an episode; 0 means 10 * log2(size)", rare=True, at_least=0
    )

    def __check_init__(self):
        check_ranges(self)
        if not 0.0 <= self.noise < 2.0 / 3.0:
            raise InvalidParameterError(
                f"noise must be at least 0 and less than 2/3, where answers carry no "
                f"information; got {self.noise}."
            )

    def in_words(self) -> str:
        return (
            f"a number from 0 to {self.size - 1}, each equally probable; an answer is "
            f"wrong with probability {self.noise:g}"
        )

    @property
    def spec(self) -> TaskSpec:
        """That of binary search, with a longer horizon."""
        horizon = self.horizon or 10 * (self.size - 1).bit_length()
        return BinarySearch(self.size, horizon).spec

    def sample_task(self, *, key: PRNGKey) -> Number:
        return jr.randint(key, (), 0, self.size)

    def reset(self, task: Number, *, key: PRNGKey) -> StepResult:
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
        return task

    def exact_belief(self) -> FiniteModelBelief:
        return self.finite_belief()

    def finite_belief(self) -> FiniteModelBelief:
        """A task for each number."""
        model = noisy_search_model(self.size, self.noise)
        return FiniteModelBelief(model, FIRST_ANSWER)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """Without noise the optimum; with it, what Fano's inequality says."""
        known = {} if self.noise else search_limits(self.size)
        if error_prob is not None:
            known["fano_mean_queries"] = noisy_search_least_queries(
                self.size, self.noise, error_prob
            )
        return known

    def query_axis(self) -> QueryAxis:
        return BinarySearch(self.size).query_axis()
