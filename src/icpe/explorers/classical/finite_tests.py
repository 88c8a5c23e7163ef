"""Active testing of finitely many hypotheses: the shell of Chernoff's and its kin."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, Scalar
from icpe.core.errors import InvalidParameterError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import TaskSpec
from icpe.core.request import OperatingPoint
from icpe.explorers.rules.stopping import is_confident, stop_if, stop_threshold
from icpe.families.search import BinarySearch, NoisyBinarySearch
from icpe.families.search_beliefs import FiniteModelBelief
from icpe.theory.finite_model import LogWeights
from icpe.theory.noisy_search import noisy_search_model
from icpe.theory.thresholds import finite_model_threshold

FINITE_MODELS = (BinarySearch, NoisyBinarySearch)
"""Families with finitely many tasks and a table of likelihoods."""

STOPS = ("posterior", "valid")


class AbstractTestChoice(eqx.Module):
    """Which query to make, given the weight of each task."""

    @abc.abstractmethod
    def preferences(
        self, log_weights: LogWeights, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """A score for each query; the allowed one with the largest is made."""


class FiniteTestState(eqx.Module):
    """The weight of each task; `error_prob` is None under a budget."""

    log_weights: LogWeights
    error_prob: Scalar | None


class FiniteTestExplorer(AbstractExplorer):
    """Tests the hypotheses of a finite model with a uniform prior.

    `posterior`: it stops when the largest posterior is at least 1 - delta, and so errs
    with probability at most delta on average over the prior. `valid`: it stops when
    the likelihood of one task is (H-1) / delta times that of every other, and errs
    with probability at most delta on every task (`finite_model_threshold`).
    """

    name: str = eqx.field(static=True)
    belief: FiniteModelBelief
    choice: AbstractTestChoice
    threshold: str = eqx.field(static=True)

    def __check_init__(self):
        if self.threshold not in STOPS:
            raise InvalidParameterError(
                f"threshold must be one of {', '.join(STOPS)}; got {self.threshold!r}."
            )

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> FiniteTestState:
        """Serves an error probability or a budget."""
        stops = stop_threshold(self.name, spec, operating_point) is not None
        return FiniteTestState(
            self.belief.init(first_outcome),
            operating_point.error_prob if stops else None,
        )

    def ask(
        self,
        state: FiniteTestState,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The preferred query among the allowed ones."""
        scores = self.choice.preferences(state.log_weights, key=key)
        scores = jnp.maximum(scores, jnp.finfo(scores.dtype).min)
        query = jnp.argmax(jnp.where(query_mask, scores, -jnp.inf))
        stop = ~jnp.any(query_mask)
        if state.error_prob is not None:
            stop = stop | self._is_sure(state.log_weights, state.error_prob)
        return stop_if(stop, query)

    def tell(
        self, state: FiniteTestState, query: Index, outcome: Float[Array, "outcome"]
    ) -> FiniteTestState:
        """Bayes' rule."""
        log_weights = self.belief.update(state.log_weights, query, outcome)
        return FiniteTestState(log_weights, state.error_prob)

    def recommend(self, state: FiniteTestState) -> Index:
        """The most probable hypothesis."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: FiniteTestState) -> Float[Array, "hypotheses"]:
        """The exact posterior."""
        return self.belief.log_posterior(state.log_weights)

    def _is_sure(self, log_weights: LogWeights, error_prob: Scalar) -> Flag:
        if self.threshold == "posterior":
            log_posterior = self.belief.log_posterior(log_weights)
            return is_confident(log_posterior, 1.0 - error_prob)
        best = jnp.argmax(log_weights)
        is_best = jnp.arange(log_weights.shape[0]) == best
        runner_up = jnp.max(jnp.where(is_best, -jnp.inf, log_weights))
        enough = finite_model_threshold(log_weights.shape[0], error_prob)
        return log_weights[best] - runner_up >= enough


def finite_belief(family: BinarySearch | NoisyBinarySearch) -> FiniteModelBelief:
    """The family as a finite model with a uniform prior; answers are -1, 0 and 1."""
    noise = family.noise if isinstance(family, NoisyBinarySearch) else 0.0
    return FiniteModelBelief(noisy_search_model(family.size, noise), -1.0)
