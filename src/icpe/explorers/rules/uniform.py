"""Uniformly random queries with an exact belief: the baseline that does not choose."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.belief import AbstractBelief, belief_for
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint
from icpe.explorers.rules.stopping import (
    is_confident,
    random_query,
    stop_if,
    stop_threshold,
)


class UniformState(eqx.Module):
    """The belief's statistics; the threshold is None where it never stops."""

    belief: PyTree
    threshold: Scalar | None


class UniformExplorer(AbstractExplorer):
    """Asks any allowed query with equal probability and answers by the belief.

    With an error probability it stops as soon as the exact posterior of the best
    hypothesis is at least 1 - error_prob. With a budget the posterior is computed
    only for the answer.
    """

    belief: AbstractBelief

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> UniformState:
        """Serves an error probability or a budget."""
        return UniformState(
            self.belief.init(first_outcome),
            stop_threshold("uniform", spec, operating_point),
        )

    def ask(
        self, state: UniformState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """A random allowed query."""
        query = random_query(query_mask, key=key)
        if state.threshold is None:
            return query
        return stop_if(is_confident(self.log_posterior(state), state.threshold), query)

    def tell(
        self, state: UniformState, query: Index, outcome: Float[Array, "outcome"]
    ) -> UniformState:
        """Updates the belief."""
        belief = self.belief.update(state.belief, query, outcome)
        return UniformState(belief, state.threshold)

    def recommend(self, state: UniformState) -> Index:
        """The most probable hypothesis."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: UniformState) -> Float[Array, "hypotheses"]:
        """The exact posterior."""
        return self.belief.log_posterior(state.belief)


def make_uniform(family: AbstractTaskFamily) -> UniformExplorer:
    """The uniform explorer of a family that has an exact belief."""
    return UniformExplorer(belief_for(family))
