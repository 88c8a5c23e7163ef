"""A trained explorer that stops by its belief, not by what a query is worth."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.explorer import AbstractExplorer, StopStatistic
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if
from icpe.explorers.neural.explorer import NeuralExplorer, NeuralState
from icpe.explorers.rules.belief_explorer import DoubtStopping


class SureState(eqx.Module):
    """The state of the explorer inside, and the doubt at which to stop."""

    inner: NeuralState
    doubt: Scalar


class SureExplorer(AbstractExplorer):
    """Asks as the explorer inside does at a price, and stops at a doubt.

    The doubt is one minus the largest posterior; `operating_point.error_prob` says how
    small it must be. With 0 it never stops.
    """

    inner: NeuralExplorer

    @property
    def made_for(self) -> TaskSpec:
        return self.inner.made_for

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> SureState:
        point = dataclasses.replace(operating_point, regime=Regime.MIXED)
        return SureState(
            self.inner.init(spec, point, first_outcome), operating_point.error_prob
        )

    def ask(
        self, state: SureState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The query of largest value, or `STOP` once the doubt is small enough."""
        largest = jnp.max(self.log_posterior(state))
        sure = (state.doubt > 0) & (largest >= jnp.log1p(-state.doubt))
        query = self.inner.best_query(state.inner, query_mask)
        return stop_if(sure | ~jnp.any(query_mask), query)

    def tell(
        self, state: SureState, query: Index, outcome: Float[Array, "outcome"]
    ) -> SureState:
        return SureState(self.inner.tell(state.inner, query, outcome), state.doubt)

    def recommend(self, state: SureState) -> Index:
        return self.inner.recommend(state.inner)

    def log_posterior(self, state: SureState) -> Float[Array, "hypotheses"]:
        return self.inner.log_posterior(state.inner)

    def stop_statistic(
        self, state: SureState, query_mask: Bool[Array, "queries"]
    ) -> StopStatistic:
        return DoubtStopping().statistic(self.log_posterior(state), state.doubt)
