"""A table of likelihoods drawn at random: any battery of tests, none in particular."""

import functools as ft

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.checks import check_seed
from icpe.core.family import (
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.finite import AbstractFiniteFamily, FiniteModelBelief
from icpe.theory.finite_model import finite_model


class RandomTests(AbstractFiniteFamily):
    """Conditions and tests with random probabilities of the results; which is it?

    P(result | condition, test) is Dirichlet(spread .. spread), drawn once by `draw`;
    all conditions are equally probable. Small values of `spread` make tests decisive.
    With `max_cost` above 1 each test costs a whole number from 1 to it, drawn as well.
    """

    num_conditions: int = parameter(32, "how many conditions there are", at_least=2)
    num_tests: int = parameter(48, "how many tests there are", at_least=1)
    num_results: int = parameter(2, "how many results a test can have", at_least=2)
    once: bool = parameter(True, "each test can be made once")
    max_cost: int = parameter(1, "the largest cost of a test", at_least=1)
    spread: float = parameter(
        0.5, "how alike the results of a test are", at_least=0.02, at_most=1e6
    )
    horizon: int = parameter(
        0, "most tests; 0: all where each is made once, else 40", rare=True, at_least=0
    )
    draw: int = parameter(0, "which table is drawn")

    def __check_init__(self):
        check_ranges(self)
        check_seed("draw", self.draw)

    @property
    def table(self) -> Float[np.ndarray, "conditions tests results"]:
        """P(result | condition, test)."""
        return _tables(
            self.num_conditions,
            self.num_tests,
            self.num_results,
            self.max_cost,
            self.spread,
            self.draw,
        )[0]

    @property
    def spec(self) -> TaskSpec:
        """A query makes a test; the hypotheses are the conditions."""
        costs = _tables(
            self.num_conditions,
            self.num_tests,
            self.num_results,
            self.max_cost,
            self.spread,
            self.draw,
        )[1]
        return TaskSpec(
            num_queries=self.num_tests,
            num_hypotheses=self.num_conditions,
            outcome_size=1,
            horizon=self._horizon,
            costs=costs if self.max_cost > 1 else (),
            query_names=_numbered("test", self.num_tests),
            hypothesis_names=_numbered("condition", self.num_conditions),
            outcome_names=("result",),
            question="Make {query}: which result does it have?",
            reveals=False,
            may_end=False,
            ask_once=self.once,
        )

    @property
    def _horizon(self) -> int:
        if not self.once:
            return self.horizon or 40
        return min(self.horizon or self.num_tests, self.num_tests)

    def sample_task(self, *, key: PRNGKey) -> Int[Array, ""]:
        return jr.randint(key, (), 0, self.num_conditions)

    def reset(self, task: Int[Array, ""], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, ""], *, key: PRNGKey
    ) -> StepResult:
        table = jnp.asarray(self.table, jnp.float32)
        result = jr.categorical(key, jnp.log(table[task, query]))
        return plain_step(self.spec, result.astype(jnp.float32)[None])

    def hypothesis(self, task: Int[Array, ""]) -> Index:
        return task

    def log_likelihood(
        self, hypothesis: Index, query: Index, outcome: Float[Array, "outcome"]
    ) -> Scalar:
        table = jnp.asarray(self.table, jnp.float32)
        result = jnp.round(outcome[0]).astype(jnp.int32)
        return jnp.log(table[hypothesis, query, result])

    def exact_belief(self) -> FiniteModelBelief:
        return self.finite_belief()

    def finite_belief(self) -> FiniteModelBelief:
        """A task for each condition."""
        uniform = np.full(self.num_conditions, 1.0 / self.num_conditions)
        return FiniteModelBelief(finite_model(uniform, self.table))


def _numbered(word: str, number: int) -> tuple[str, ...]:
    return tuple(f"{word} {i}" for i in range(number))


@ft.lru_cache
def _tables(conditions: int, tests: int, results: int, cost: int, spread, draw: int):
    """The legacy generator of numpy is frozen, so these tables never change."""
    random = np.random.RandomState(draw)
    table = random.dirichlet([spread] * results, (conditions, tests))
    table = np.maximum(table, 1e-6)
    table = table / table.sum(axis=-1, keepdims=True)
    table.setflags(write=False)
    costs = random.randint(1, cost + 1, tests).astype(float)
    return table, tuple(costs.tolist())
