"""The family of a table of likelihoods."""

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    StepResult,
    check_ranges,
    data,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.families.finite import AbstractFiniteFamily, FiniteModelBelief
from icpe.theory.finite_model import finite_model

USUAL_HORIZON = 40
"""Most queries where each may be made again and nothing is said."""

_EXAMPLE = (
    # temperature     blood test    cough
    ((0.1, 0.2, 0.7), (0.9, 0.1), (0.2, 0.8)),  # flu
    ((0.3, 0.6, 0.1), (0.8, 0.2), (0.3, 0.7)),  # cold
    ((0.6, 0.3, 0.1), (0.2, 0.8), (0.9, 0.1)),  # allergy
)


def as_names(given: Any) -> tuple[str, ...]:
    """Names as a tuple of texts."""
    return tuple(map(str, given))


def as_names_of_each(given: Any) -> tuple[tuple[str, ...], ...]:
    """Names of the outcomes of each query."""
    return tuple(map(as_names, given))


def as_numbers(given: Any) -> tuple[float, ...]:
    """Costs as a tuple of numbers."""
    return tuple(map(float, given))


class Likelihoods(AbstractFiniteFamily):
    """A table of probabilities of outcomes, given hypothesis and query; which is it?

    Outcomes are independent given the hypothesis. `icpe.families.from_likelihoods`
    makes it from an array or a CSV file; without one there is a small example.
    """

    table: Float[Array, "hypotheses queries outcomes"] = data(
        "P(outcome | hypothesis, query); 0 for outcomes that a query does not have",
        example=lambda: padded(_EXAMPLE),
    )
    prior: Float[Array, "hypotheses"] = data(
        "probability of each hypothesis", example=lambda: np.full(3, 1 / 3)
    )
    title: str = parameter("an example", "what the table is about")
    hypothesis_names: tuple[str, ...] = parameter(
        (), "names of the hypotheses", words=True, converter=as_names
    )
    query_names: tuple[str, ...] = parameter(
        (), "names of the queries", words=True, converter=as_names
    )
    outcome_words: tuple[tuple[str, ...], ...] = parameter(
        (),
        "names of the outcomes of each query",
        words=True,
        converter=as_names_of_each,
    )
    costs: tuple[float, ...] = parameter(
        (), "cost of each query; empty: 1 each", words=True, converter=as_numbers
    )
    once: bool = parameter(True, "each query can be made once")
    horizon: int = parameter(
        0,
        "most queries; 0: all where each is made once, else 40",
        rare=True,
        at_least=0,
    )

    def __check_init__(self):
        check_ranges(self)
        num_hypotheses, num_queries, num_outcomes = self.table.shape
        sizes = (
            ("prior", self.prior, num_hypotheses),
            ("hypothesis_names", self.hypothesis_names, num_hypotheses),
            ("query_names", self.query_names, num_queries),
            ("outcome_words", self.outcome_words, num_queries),
            ("costs", self.costs, num_queries),
        )
        for name, given, size in sizes:
            if len(given) not in (0, size):
                raise InvalidParameterError(
                    f"{name} must have {size} entries, as the table; got {len(given)}."
                )
        for words in self.outcome_words:
            if not 1 <= len(words) <= num_outcomes:
                raise InvalidParameterError(
                    f"outcome_words must name 1 to {num_outcomes} outcomes of each "
                    f"query; got {len(words)}: {', '.join(words)}."
                )

    @property
    def spec(self) -> TaskSpec:
        """A query is a column of the table; the hypotheses are its rows."""
        num_hypotheses, num_queries, num_outcomes = self.table.shape
        plain = (tuple(map(str, range(num_outcomes))),) * num_queries
        return TaskSpec(
            num_queries=num_queries,
            num_hypotheses=num_hypotheses,
            outcome_size=1,
            horizon=_horizon(self.horizon, num_queries, self.once),
            costs=self.costs,
            query_names=self.query_names,
            hypothesis_names=self.hypothesis_names,
            outcome_names=("outcome",),
            query_outcomes=self.outcome_words or plain,
            question="{query}: what is the outcome?",
            reveals=False,
            may_end=False,
            ask_once=self.once,
        )

    def sample_task(self, *, key: PRNGKey) -> Int[Array, ""]:
        return jr.categorical(key, jnp.log(self.prior)).astype(jnp.int32)

    def reset(self, task: Int[Array, ""], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, ""], *, key: PRNGKey
    ) -> StepResult:
        outcome = jr.categorical(key, jnp.log(self.table[task, query]))
        return plain_step(self.spec, outcome.astype(jnp.float32)[None])

    def hypothesis(self, task: Int[Array, ""]) -> Index:
        return task

    def log_prior(self) -> Float[Array, "hypotheses"]:
        return jnp.log(self.prior)

    def exact_belief(self) -> FiniteModelBelief:
        return self.finite_belief()

    def finite_belief(self) -> FiniteModelBelief:
        """A task for each hypothesis."""
        prior = np.asarray(self.prior, float)
        table = np.asarray(self.table, float)
        return FiniteModelBelief(
            finite_model(prior / prior.sum(), table / table.sum(axis=2, keepdims=True))
        )

    def contradicts(self, history: History) -> bool:
        """Whether no hypothesis allows all outcomes."""
        number = int(history.length)
        queries = np.asarray(history.queries)[:number]
        codes = np.round(np.asarray(history.outcomes)[1 : number + 1, 0]).astype(int)
        possible = np.asarray(self.table)[:, queries, codes] > 0
        return not bool((possible.all(axis=1) & (np.asarray(self.prior) > 0)).any())


def padded(rows: Any) -> Float[np.ndarray, "hypotheses queries outcomes"]:
    """Nested lists as an array, with zeros for the outcomes that a query lacks."""
    most = max(len(cells) for row in rows for cells in row)
    table = np.zeros((len(rows), len(rows[0]), most))
    for h, row in enumerate(rows):
        for q, cells in enumerate(row):
            table[h, q, : len(cells)] = cells
    return table


def _horizon(given: int, num_queries: int, once: bool) -> int:
    if not once:
        return given or USUAL_HORIZON
    return min(given or num_queries, num_queries)
