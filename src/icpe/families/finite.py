"""Families with finitely many tasks and outcomes: a table says everything."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractPredictiveBelief, TaskClasses
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily, Limits
from icpe.core.likelihood import MOST_OUTCOMES, has_likelihood, outcome_table
from icpe.core.simulate import reveals_something
from icpe.theory.belief_graph import MOST_NUMBERS, TooManyBeliefsError
from icpe.theory.finite_dynamic_program import solve_error_prob, solve_price
from icpe.theory.finite_model import (
    FiniteModel,
    LogWeights,
    finite_model,
    hypothesis_log_posterior,
    information_gains,
    update,
)


class FiniteModelBelief(AbstractPredictiveBelief):
    """Any finite model whose outcomes are `first_answer`, `first_answer` + 1, ..."""

    model: FiniteModel
    first_answer: float = eqx.field(static=True, default=0.0)

    def init(self, first_outcome: Float[Array, "outcome"]) -> LogWeights:
        return self.model.log_prior

    def update(
        self, state: LogWeights, query: Index, outcome: Float[Array, "outcome"]
    ) -> LogWeights:
        """Bayes' rule, normalized so that long histories lose no digits.

        Outcomes that contradict one another lead back to the prior.
        """
        answer = jnp.round(outcome[0] - self.first_answer).astype(jnp.int32)
        new = update(self.model, state, query, answer)
        possible = jnp.any(jnp.isfinite(new))
        return jax.nn.log_softmax(jnp.where(possible, new, self.model.log_prior))

    def log_posterior(self, state: LogWeights) -> Float[Array, "hypotheses"]:
        """The weights of its tasks together."""
        return hypothesis_log_posterior(self.model, state)

    def information_gains(self, state: LogWeights) -> Float[Array, "queries"]:
        """By enumeration of tasks and outcomes."""
        return information_gains(self.model, state)

    def classes(self) -> TaskClasses:
        model = self.model
        answers = self.first_answer + np.arange(model.log_likelihood.shape[2])
        return TaskClasses(
            model.log_prior,
            model.log_likelihood,
            model.hypotheses,
            jnp.asarray(answers[:, None], model.log_prior.dtype),
        )


class AbstractFiniteFamily(AbstractTaskFamily):
    """A family that is a finite model; methods of active testing serve it."""

    @abc.abstractmethod
    def finite_belief(self) -> FiniteModelBelief:
        """The exact posterior by the table of the model."""


class Optimum(NamedTuple):
    """The exact optimum over the prior, or why there is none.

    Attributes:
        limits: `bayes_mean_queries`, or `bayes_mean_cost` where queries have costs,
            None where no explorer errs so rarely within the horizon; at a price,
            `bayes_accuracy` stands beside it. Empty where it is not known.
        reason: why it is not known, in words; empty where it is.
    """

    limits: Limits
    reason: str = ""


def bayes_optimum(
    family: AbstractTaskFamily,
    *,
    error_prob: float | None = None,
    price: float | None = None,
) -> Optimum:
    """The exact optimum over the prior at an error probability or a price.

    It is known if the family is a finite model, or has a `log_likelihood` and few
    outcomes, and its dynamic program fits (`icpe.theory.belief_graph.MOST_NUMBERS`).
    """
    spec = family.spec
    if error_prob is None and price is None:
        return Optimum({}, "it depends on an error probability or a price")
    model = _model_or_reason(family)
    if isinstance(model, str):
        return Optimum({}, model)
    name = "bayes_mean_cost" if spec.costs else "bayes_mean_queries"
    rest = (spec.horizon, spec.costs or None)
    try:
        if price is not None:
            best = solve_price(model, price, *rest, ask_once=spec.ask_once)
            found: Limits = {"bayes_accuracy": best.accuracy, name: best.mean_cost}
            return Optimum(found)
        assert error_prob is not None
        cheapest = solve_error_prob(model, error_prob, *rest, ask_once=spec.ask_once)
        return Optimum({name: cheapest.mean_cost})
    except TooManyBeliefsError:
        tasks, queries, outcomes = model.log_likelihood.shape
        fit = MOST_NUMBERS // (tasks * queries * outcomes)
        return Optimum(
            {},
            f"with {tasks} tasks, {queries} queries and {outcomes} outcomes its dynamic"
            f" program has room for {fit} beliefs, and {spec.horizon} queries lead to "
            "more; a shorter horizon or fewer queries may fit",
        )
    except InvalidParameterError:
        return Optimum({name: None})


def model_of(family: AbstractTaskFamily) -> FiniteModel | None:
    """The family as a finite model, None where it is none or far too large."""
    model = _model_or_reason(family)
    return None if isinstance(model, str) else model


def _model_or_reason(family: AbstractTaskFamily) -> FiniteModel | str:
    """The family as a finite model, or in words why it is none.

    Where only the family can end an episode, or a mask or the first outcome depends
    on the task, a table does not say everything.
    """
    spec = family.spec
    if not spec.can_stop:
        return "only the family ends its episodes"
    if spec.masks_queries:
        return "the dynamic program knows no masks of queries but ask_once"
    first_answers = spec.num_queries * spec.num_queries * spec.num_hypotheses
    if first_answers > MOST_NUMBERS:
        return (
            f"{spec.num_queries} queries and {spec.num_hypotheses} hypotheses are too "
            f"many for a dynamic program of {MOST_NUMBERS // 10**6} million numbers"
        )
    if isinstance(family, AbstractFiniteFamily):
        return family.finite_belief().model
    if not has_likelihood(family):
        return (
            "the family gives no log_likelihood, as where a hypothesis leaves the law "
            "of outcomes open"
        )
    if reveals_something(family):
        return "something is revealed before the first query"
    if (table := outcome_table(family)) is None:
        return (
            f"there are more than {MOST_OUTCOMES} different outcomes, or their "
            "probabilities do not sum to 1"
        )
    likelihood = np.asarray(table.probability, float)
    prior = np.exp(np.asarray(family.log_prior(), float))
    return finite_model(
        prior / prior.sum(), likelihood / likelihood.sum(axis=2, keepdims=True)
    )
