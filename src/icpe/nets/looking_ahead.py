"""An exact posterior that looks ahead by counted tables.

Some beliefs know what a history says, and not, or not soon enough, what each query is
about to tell. Tables that were counted in simulated episodes stand in for that: their
classes are weighed as the exact posterior weighs the hypotheses.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PyTree
from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief, Outlook
from icpe.nets.predictions import LogWeights, Predictions

_LEAST_LOG = -60.0


class TabledBelief(AbstractPredictiveBelief):
    """The posterior of `belief`, the expectations of `tables`."""

    belief: AbstractBelief
    tables: Predictions

    def init(self, first_outcome: Float[Array, "outcome"]) -> tuple[PyTree, LogWeights]:
        return self.belief.init(first_outcome), self.tables.start(first_outcome)

    def update(
        self,
        state: tuple[PyTree, LogWeights],
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> tuple[PyTree, LogWeights]:
        inner, weights = state
        return (
            self.belief.update(inner, query, outcome),
            self.tables.update(weights, query, outcome),
        )

    def log_posterior(
        self, state: tuple[PyTree, LogWeights]
    ) -> Float[Array, "hypotheses"]:
        return self.belief.log_posterior(state[0])

    def information_gains(
        self, state: tuple[PyTree, LogWeights]
    ) -> Float[Array, "queries"]:
        return self.tables.information(self._weights(state))

    def outlook(self, state: tuple[PyTree, LogWeights]) -> Outlook:
        weights = self._weights(state)
        log_posterior = self.log_posterior(state)
        right = jnp.max(jnp.exp(log_posterior))
        removed = self.tables.error_removed(weights)
        after = None if removed.ndim == 0 else right + (1.0 - right) * removed
        return Outlook(log_posterior, self.tables.information(weights), after)

    def _weights(self, state: tuple[PyTree, LogWeights]) -> Float[Array, "classes"]:
        """Of the classes: the tables' within a hypothesis, the posterior's between."""
        inner, weights = state
        exact = jnp.maximum(self.belief.log_posterior(inner), _LEAST_LOG)
        shift = exact - self.tables.log_posterior(weights)
        logs = weights + jnp.repeat(shift, self.tables.num_each)
        logs = jnp.exp(logs - jnp.max(logs))
        return logs / jnp.sum(logs)
