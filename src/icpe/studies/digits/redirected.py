"""One explorer's belief with another's choice of queries."""

import equinox as eqx
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree
from icpe.core.errors import OperatingPointError
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.nets.tokens import Summary
from icpe.studies.digits.choosers import AbstractChooser, Believed
from icpe.studies.digits.classified import uncover


class RedirectedState(eqx.Module):
    """What was seen, the state of who answers, and what the chooser keeps."""

    seen: Summary
    inner: PyTree
    kept: PyTree


class RedirectedExplorer(AbstractExplorer):
    """A chooser picks the queries; `believer` hears of them and answers."""

    believer: AbstractExplorer
    chooser: AbstractChooser

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> RedirectedState:
        """Serves a budget.

        Raises:
            OperatingPointError: a chooser does not know when to stop.
        """
        if operating_point.regime is not Regime.BUDGET:
            raise OperatingPointError(
                "An explorer with a chooser of its own cannot decide to stop; ask for "
                "a budget."
            )
        return RedirectedState(
            Summary.empty(spec.num_queries, spec.outcome_size),
            self.believer.init(spec, operating_point, first_outcome),
            self.chooser.init(operating_point),
        )

    def ask(
        self,
        state: RedirectedState,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        believed = Believed(state.seen, self.believer, state.inner)
        return self.chooser.choose(state.kept, believed, query_mask, key=key)

    def tell(
        self, state: RedirectedState, query: Index, outcome: Float[Array, "outcome"]
    ) -> RedirectedState:
        return RedirectedState(
            uncover(state.seen, query, outcome),
            self.believer.tell(state.inner, query, outcome),
            state.kept,
        )

    def recommend(self, state: RedirectedState) -> Index:
        return self.believer.recommend(state.inner)

    def log_posterior(
        self, state: RedirectedState
    ) -> Float[Array, "hypotheses"] | None:
        return self.believer.log_posterior(state.inner)
