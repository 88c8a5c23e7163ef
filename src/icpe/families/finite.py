"""Families with finitely many tasks and outcomes: a table says everything."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily, Limits
from icpe.theory.finite_dynamic_program import solve_error_prob
from icpe.theory.finite_model import (
    FiniteModel,
    LogWeights,
    hypothesis_log_posterior,
    information_gains,
    update,
)

_MOST_STATES = 20_000
"""Larger dynamic programs take longer than a table of limits should."""


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


class AbstractFiniteFamily(AbstractTaskFamily):
    """A family that is a finite model; methods of active testing serve it."""

    @abc.abstractmethod
    def finite_belief(self) -> FiniteModelBelief:
        """The exact posterior by the table of the model."""


def bayes_limit(
    model: FiniteModel, horizon: int, costs: tuple[float, ...], error_prob: float | None
) -> Limits:
    """The least mean cost over the prior, where the exact program fits.

    Without costs it is called `bayes_mean_queries`.

    Raises:
        InvalidParameterError: no policy errs so rarely within the horizon.
    """
    _, num_queries, num_outcomes = model.log_likelihood.shape
    num_states = math.comb(num_queries * num_outcomes + horizon, horizon)
    if error_prob is None or num_states > _MOST_STATES:
        return {}
    name = "bayes_mean_cost" if costs else "bayes_mean_queries"
    try:
        solution = solve_error_prob(model, error_prob, horizon, costs or None)
    except InvalidParameterError:
        return {name: None}
    return {name: solution.mean_cost}
