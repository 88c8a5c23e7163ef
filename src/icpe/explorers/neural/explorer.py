"""The trained explorer: it asks by its query net, answers by its inference net.

It stops exactly when S(D) >= max_a Q(D, a), stopping being worth the probability S of
the most probable hypothesis; see `icpe.explorers.neural.networks`.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, Scalar
from icpe.core.episode import STOP
from icpe.core.errors import OperatingPointError
from icpe.core.explorer import AbstractExplorer, StopStatistic
from icpe.core.memory import Growing, Scratch, StepCount
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.inputs import Predicted
from icpe.explorers.neural.networks import Estimates, ExplorerNets
from icpe.nets.tokens import first_token, token_after
from icpe.nets.transformer import TIME_AXIS


class NeuralState(eqx.Module):
    """The state of a neural explorer: its estimates now, and its working memory."""

    estimates: Estimates
    price: Scalar
    max_queries: Index
    position: StepCount
    memory: Scratch


class NeuralExplorer(AbstractExplorer):
    """Asks the query of largest value; stops when stopping is worth as much.

    While it learns it may be rough, and rounds more.
    """

    nets: ExplorerNets
    is_rough: bool = eqx.field(static=True, default=False)

    @property
    def made_for(self) -> TaskSpec:
        return self.nets.spec

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> NeuralState:
        """Reads what the family revealed at reset.

        Raises:
            OperatingPointError: in the regime ERROR_PROB, which needs the price that
                belongs to it in the operating table of an artifact.
        """
        if operating_point.regime is Regime.ERROR_PROB:
            raise OperatingPointError(
                "A trained explorer is asked for a price or a budget; look up the "
                "price of an error_prob in its artifact first."
            )
        nets = self.nets
        kind = nets.config.summary_kind(spec)
        token, summary = first_token(
            nets.config.normalize(spec, first_outcome), spec.num_queries, kind
        )
        predicted = None
        if nets.predictions is not None:
            predicted = Predicted.start(
                nets.predictions, spec.num_queries, first_outcome
            )
        start = jnp.zeros((), jnp.int32)
        state = self._read(
            token,
            summary,
            nets.init_caches(),
            operating_point.price,
            operating_point.max_queries,
            StepCount(start, bound=0),
            predicted,
        )
        return dataclasses.replace(state, position=StepCount(start, spec.horizon))

    def ask(
        self, state: NeuralState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The greedy query, or `STOP` when no query gains over stopping."""
        stop = self.wants_to_stop(state, query_mask)
        return jnp.where(stop, STOP, self.best_query(state, query_mask))

    def wants_to_stop(
        self, state: NeuralState, query_mask: Bool[Array, "queries"]
    ) -> Flag:
        """S(D) >= max_a Q(D, a), where a price is set and stopping is allowed."""
        statistic = self.stop_statistic(state, query_mask)
        if statistic is None:
            return jnp.asarray(False)
        can_ask = jnp.any(query_mask)
        return (state.price > 0) & ((statistic.margin <= 0) | ~can_ask)

    def stop_statistic(
        self, state: NeuralState, query_mask: Bool[Array, "queries"]
    ) -> StopStatistic | None:
        """S(D) and Q(D, a) of the best query; of a budget nothing is decided by it."""
        if not self.nets.spec.can_stop:
            return None
        gain = state.estimates.gain[self.best_query(state, query_mask)]
        value = state.estimates.stop_value
        return StopStatistic(value, value + gain, gain, "values")

    def best_query(
        self, state: NeuralState, query_mask: Bool[Array, "queries"]
    ) -> Index:
        """The allowed query of largest value."""
        return jnp.argmax(jnp.where(query_mask, state.estimates.ranking, -jnp.inf))

    def tell(
        self, state: NeuralState, query: Index, outcome: Float[Array, "outcome"]
    ) -> NeuralState:
        nets = self.nets
        caches, summary, predicted = state.memory.value
        caches = caches.value
        token, summary = token_after(
            query,
            nets.config.normalize(nets.spec, outcome),
            nets.spec.num_queries,
            summary,
        )
        if predicted is not None:
            assert nets.predictions is not None
            predicted = predicted.after(nets.predictions, query, outcome)
        return self._read(
            token,
            summary,
            caches,
            state.price,
            state.max_queries,
            state.position.next(),
            predicted,
        )

    def recommend(self, state: NeuralState) -> Index:
        return jnp.argmax(state.estimates.log_posterior)

    def log_posterior(self, state: NeuralState) -> Float[Array, "hypotheses"]:
        return state.estimates.log_posterior

    def _read(
        self, token, summary, caches, price, max_queries, position, predicted
    ) -> NeuralState:
        estimates, caches = self.nets.step(
            token,
            price,
            max_queries,
            caches,
            position,
            predicted,
            is_rough=self.is_rough,
        )
        unit = self.nets.config.transformer.length_unit
        return NeuralState(
            estimates=estimates,
            price=price,
            max_queries=max_queries,
            position=position,
            memory=Scratch((Growing(caches, TIME_AXIS, unit), summary, predicted)),
        )
