"""I-DPT: ask about the most probable hypothesis, by the belief of another explorer."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.errors import IcpeError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint, Regime
from icpe.explorers.rules.stopping import is_confident, stop_if, stop_threshold
from icpe.families.registry import family_name, family_names, make


class PosteriorState(eqx.Module):
    """The state of the explorer whose belief is used; it may never want to stop."""

    inner: PyTree
    threshold: Scalar | None


class PosteriorGreedyExplorer(AbstractExplorer):
    """Makes the query of the most probable hypothesis and stops at 1 - delta.

    I-DPT of the paper (appendix "I-DPT"): the decision-pretrained transformer of Lee et
    al. 2023 acting greedily by the inference net of a trained explorer. It shows what a
    learned query net adds to a learned belief. It takes any explorer with a belief; an
    exact one errs with probability at most delta on average over the prior, a learned
    one as far as its belief can be trusted.
    """

    inner: AbstractExplorer

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> PosteriorState:
        """Serves an error probability or a budget."""
        threshold = stop_threshold("i-dpt", spec, operating_point)
        inner = init_belief(self.inner, spec, operating_point, first_outcome)
        return PosteriorState(inner, threshold)

    def ask(
        self, state: PosteriorState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The most probable hypothesis that may be asked about."""
        log_posterior = self.log_posterior(state)
        lowest = jnp.finfo(log_posterior.dtype).min
        scores = jnp.where(query_mask, jnp.maximum(log_posterior, lowest), -jnp.inf)
        stop = ~jnp.any(query_mask)
        if state.threshold is not None:
            stop = stop | is_confident(log_posterior, state.threshold)
        return stop_if(stop, jnp.argmax(scores))

    def tell(
        self, state: PosteriorState, query: Index, outcome: Float[Array, "outcome"]
    ) -> PosteriorState:
        """Updates the belief."""
        inner = self.inner.tell(state.inner, query, outcome)
        return PosteriorState(inner, state.threshold)

    def recommend(self, state: PosteriorState) -> Index:
        """The most probable hypothesis."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: PosteriorState) -> Float[Array, "hypotheses"]:
        """The belief of the explorer inside."""
        return belief_of(self.inner, state.inner)


def init_belief(
    inner: AbstractExplorer,
    spec: TaskSpec,
    operating_point: OperatingPoint,
    first_outcome: Float[Array, "outcome"],
) -> PyTree:
    """The first state of an explorer that is used for its belief alone.

    It is told of a budget, which every explorer with a belief can serve and which
    leaves the belief as it is.
    """
    nothing = jnp.zeros_like(operating_point.price)
    budget = OperatingPoint(
        nothing, nothing, operating_point.max_queries, Regime.BUDGET
    )
    return inner.init(spec, budget, first_outcome)


def belief_of(inner: AbstractExplorer, state: Any) -> Float[Array, "hypotheses"]:
    """The belief of an explorer that must have one.

    Raises:
        UnsupportedError: it has none.
    """
    log_posterior = inner.log_posterior(state)
    if log_posterior is None:
        raise UnsupportedError(
            f"{type(inner).__name__} has no belief to act on; take a trained explorer, "
            "or one with an exact posterior."
        )
    return log_posterior


def make_posterior_greedy(
    inner: AbstractExplorer, family: AbstractTaskFamily
) -> PosteriorGreedyExplorer:
    """I-DPT by the belief of an explorer of this family.

    Raises:
        UnsupportedError: the queries of the family are not its hypotheses.
    """
    if not asks_about_hypotheses(family.spec):
        able = families_that(asks_about_hypotheses)
        raise UnsupportedError(
            f"Explorer 'i-dpt' asks about the most probable hypothesis, but the "
            f"queries of {family_name(family)!r} are not its hypotheses; it can serve "
            f"{', '.join(able)}."
        )
    return PosteriorGreedyExplorer(inner)


def asks_about_hypotheses(spec: TaskSpec) -> bool:
    """Whether each query is about the hypothesis of the same number."""
    same_names = spec.query_names == spec.hypothesis_names
    return spec.can_stop and spec.num_queries == spec.num_hypotheses and same_names


def families_that(fit: Callable[[TaskSpec], bool]) -> tuple[str, ...]:
    """The names of the registered families that fit, sorted.

    A family that cannot be made without its data is left out.
    """

    def fits(name: str) -> bool:
        try:
            return fit(make(name).spec)
        except IcpeError:
            return False

    return tuple(filter(fits, family_names()))
