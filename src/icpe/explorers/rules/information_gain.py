"""Exact information-directed sampling: the query that is expected to tell most."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.belief import AbstractPredictiveBelief, belief_for
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint
from icpe.explorers.rules.stopping import (
    check_threshold,
    is_confident,
    stop_if,
    stop_threshold,
)
from icpe.families.registry import describe


class InformationGainState(eqx.Module):
    """The belief's statistics; the threshold is None where it never stops."""

    belief: PyTree
    threshold: Scalar | None


class InformationGainExplorer(AbstractExplorer):
    """Asks what lowers the entropy of the exact posterior most, one step ahead.

    This is information-directed sampling for identification (Russo and Van Roy,
    "Learning to optimize via information-directed sampling", 2018) with the exact
    posterior. It does not plan: a query that tells nothing now but makes the next one
    tell everything is never made. It stops when the largest posterior reaches the
    threshold, by default 1 - error_prob.
    """

    belief: AbstractPredictiveBelief
    threshold: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_threshold(self.threshold)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> InformationGainState:
        """Serves an error probability or a budget."""
        return InformationGainState(
            self.belief.init(first_outcome),
            stop_threshold("information-gain", spec, operating_point, self.threshold),
        )

    def ask(
        self,
        state: InformationGainState,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The allowed query with the largest gain."""
        gains = self.belief.information_gains(state.belief)
        query = jnp.argmax(jnp.where(query_mask, gains, -jnp.inf))
        stop = ~jnp.any(query_mask)
        if state.threshold is not None:
            stop = stop | is_confident(self.log_posterior(state), state.threshold)
        return stop_if(stop, query)

    def tell(
        self,
        state: InformationGainState,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> InformationGainState:
        """Updates the belief."""
        belief = self.belief.update(state.belief, query, outcome)
        return InformationGainState(belief, state.threshold)

    def recommend(self, state: InformationGainState) -> Index:
        """The most probable hypothesis."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: InformationGainState) -> Float[Array, "hypotheses"]:
        """The exact posterior."""
        return self.belief.log_posterior(state.belief)


def make_information_gain(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        float | None, "posterior at which it stops; 1 - error_prob if left out"
    ] = None,
) -> InformationGainExplorer:
    """Exact information-directed sampling for a family.

    Raises:
        UnsupportedError: the expected gains of this family are not known.
    """
    belief = belief_for(family)
    if not isinstance(belief, AbstractPredictiveBelief):
        raise UnsupportedError(
            f"Explorer 'information-gain' does not know the expected gains of "
            f"{describe(family)}; choose another explorer, or prior one-best for a "
            "feedback graph."
        )
    return InformationGainExplorer(belief, threshold)
