"""Binary search: find a number among K by guessing."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import (
    Limits,
    QueryAxis,
    StepResult,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.history import History
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if, stop_threshold
from icpe.families.finite import AbstractFiniteFamily, FiniteModelBelief
from icpe.theory.binary_search import (
    VersionSpace,
    interval_log_posterior,
    search_optimum,
    version_space,
)
from icpe.theory.noisy_search import noisy_search_model

Number = Int[Array, ""]

FIRST_ANSWER = -1.0
"""Answers are -1, 0 and 1."""


class BinarySearch(AbstractFiniteFamily):
    """A number is drawn uniformly from 0..size-1; a query guesses it.

    The outcome is the sign of (number - guess): -1 lower, 0 a hit, +1 higher.
    """

    size: int = parameter(8, "how many numbers there are", at_least=2)
    horizon: int = parameter(
        0, "most queries in an episode; 0 means twice log2(size)", rare=True, at_least=0
    )

    def in_words(self) -> str:
        return (
            f"a number from 0 to {self.size - 1}, each equally probable; answers are "
            "never wrong"
        )

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
            reveals=False,
            may_end=False,
        )

    def sample_task(self, *, key: PRNGKey) -> Number:
        return jr.randint(key, (), 0, self.size)

    def reset(self, task: Number, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Number, *, key: PRNGKey
    ) -> StepResult:
        """Compares the number with the guess."""
        sign = jnp.sign(task - query).astype(jnp.float32)
        return plain_step(self.spec, sign[None])

    def hypothesis(self, task: Number) -> Index:
        return task

    def exact_belief(self) -> "VersionSpaceBelief":
        """Uniform over an interval."""
        return VersionSpaceBelief(self.size)

    def finite_belief(self) -> FiniteModelBelief:
        """The same by a table."""
        return FiniteModelBelief(noisy_search_model(self.size, 0.0), FIRST_ANSWER)

    def optimal_explorer(self) -> "BisectionExplorer":
        """The dynamic program's policy."""
        return BisectionExplorer(self.size)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """The exact optimum without error."""
        return search_limits(self.size)

    def query_axis(self) -> QueryAxis:
        return QueryAxis("guess", range(self.size))

    def contradicts(self, history: History) -> bool:
        """Whether no number is left."""
        number = int(history.length)
        space = version_space(
            jnp.asarray(history.queries[:number], jnp.int32),
            jnp.asarray(history.outcomes[1 : number + 1, 0], jnp.float32),
            self.size,
        )
        return int(space.num_candidates) == 0


def search_limits(size: int) -> Limits:
    """The fewest queries of a search without error and without noise."""
    optimum = search_optimum(size)
    return {
        "mean_queries": optimum.mean_queries,
        "max_queries": optimum.max_queries,
    }


class VersionSpaceBelief(AbstractPredictiveBelief):
    """Which numbers agree with all comparisons so far."""

    size: int = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> VersionSpace:
        """Every number is possible."""
        return VersionSpace.full(self.size)

    def update(
        self, state: VersionSpace, query: Index, outcome: Float[Array, "outcome"]
    ) -> VersionSpace:
        return state.narrow(query, outcome[0])

    def log_posterior(self, state: VersionSpace) -> Float[Array, "hypotheses"]:
        """Uniform over the interval."""
        return interval_log_posterior(state, self.size)

    def information_gains(self, state: VersionSpace) -> Float[Array, "queries"]:
        """A guess splits n numbers into l lower, r higher and itself.

        It leaves (l log l + r log r) / n of the entropy log n.
        """
        guess = jnp.arange(self.size)
        total = jnp.maximum(state.num_candidates, 1).astype(jnp.float32)
        lower = jnp.clip(guess - state.low, 0, state.num_candidates)
        higher = jnp.clip(
            state.num_candidates - 1 - (guess - state.low), 0, state.num_candidates
        )
        left = [part.astype(jnp.float32) for part in (lower, higher)]
        return jnp.log(total) - sum(xlogy(part, part) for part in left) / total


class BisectionState(eqx.Module):
    """The numbers still possible, and whether it may stop by itself."""

    space: VersionSpace
    may_stop: bool = eqx.field(static=True)


class BisectionExplorer(AbstractExplorer):
    """Cuts the version space as the dynamic program says, until one number is left.

    It never errs, whatever error probability is allowed, and reaches both the optimal
    mean and the optimal maximum of `icpe.theory.binary_search.search_optimum`.
    """

    size: int = eqx.field(static=True)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> BisectionState:
        threshold = stop_threshold("exact-binary-search", spec, operating_point)
        return BisectionState(VersionSpace.full(self.size), threshold is not None)

    def ask(
        self, state: BisectionState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The optimal guess, or the allowed one that is nearest to it."""
        num_candidates = state.space.num_candidates
        splits = jnp.asarray(search_optimum(self.size).splits)
        guess = state.space.low + splits[num_candidates]
        distance = jnp.abs(jnp.arange(self.size, dtype=jnp.int32) - guess)
        nearest = jnp.argmin(jnp.where(query_mask, distance, 2 * self.size))
        stop = ~jnp.any(query_mask)
        if state.may_stop:
            stop = stop | (num_candidates <= 1)
        return stop_if(stop, nearest)

    def tell(
        self, state: BisectionState, query: Index, outcome: Float[Array, "outcome"]
    ) -> BisectionState:
        return BisectionState(state.space.narrow(query, outcome[0]), state.may_stop)

    def recommend(self, state: BisectionState) -> Index:
        """The smallest number that is still possible."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: BisectionState) -> Float[Array, "hypotheses"]:
        """Uniform over the version space."""
        return interval_log_posterior(state.space, self.size)
