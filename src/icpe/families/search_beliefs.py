"""Which number was meant: exact and noisy binary search, and any finite model."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractPredictiveBelief
from icpe.families.search import NoisyBinarySearch
from icpe.theory.binary_search import VersionSpace, interval_log_posterior
from icpe.theory.finite_model import (
    FiniteModel,
    LogWeights,
    hypothesis_log_posterior,
    information_gains,
    update,
)
from icpe.theory.noisy_search import noisy_search_model


class VersionSpaceBelief(AbstractPredictiveBelief):
    """Which numbers agree with all comparisons so far."""

    size: int = eqx.field(static=True)

    def init(self, first_outcome: Float[Array, "outcome"]) -> VersionSpace:
        """Every number is possible."""
        return VersionSpace.full(self.size)

    def update(
        self, state: VersionSpace, query: Index, outcome: Float[Array, "outcome"]
    ) -> VersionSpace:
        """Cuts the interval."""
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


class FiniteModelBelief(AbstractPredictiveBelief):
    """Any finite model whose outcomes are `first_answer`, `first_answer` + 1, ..."""

    model: FiniteModel
    first_answer: float = eqx.field(static=True, default=0.0)

    def init(self, first_outcome: Float[Array, "outcome"]) -> LogWeights:
        """The prior."""
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


def noisy_search_belief(family: NoisyBinarySearch) -> FiniteModelBelief:
    """Noisy binary search, whose answers are -1, 0 and 1."""
    return FiniteModelBelief(noisy_search_model(family.size, family.noise), -1.0)
