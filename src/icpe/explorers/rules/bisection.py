"""Optimal binary search: the exact optimum that learned explorers are held against."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import TaskSpec
from icpe.core.request import OperatingPoint
from icpe.explorers.rules.stopping import stop_if, stop_threshold
from icpe.families.search import BinarySearch
from icpe.theory.binary_search import (
    VersionSpace,
    interval_log_posterior,
    search_optimum,
)


class BisectionState(eqx.Module):
    """The numbers still possible, and whether it may stop by itself."""

    space: VersionSpace
    may_stop: bool = eqx.field(static=True)


class BisectionExplorer(AbstractExplorer):
    """Cuts the version space as the dynamic program says, until one number is left.

    It never errs, whatever error probability is allowed, and reaches both the optimal
    mean and the optimal maximum of `icpe.theory.binary_search.search_optimum`.
    """

    size: int = eqx.field(static=True)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> BisectionState:
        """Serves an error probability or a budget."""
        threshold = stop_threshold("exact-binary-search", spec, operating_point)
        return BisectionState(VersionSpace.full(self.size), threshold is not None)

    def ask(
        self, state: BisectionState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The optimal guess, or the allowed one that is nearest to it."""
        num_candidates = state.space.num_candidates
        splits = jnp.asarray(search_optimum(self.size).splits)
        guess = state.space.low + splits[num_candidates]
        distance = jnp.abs(jnp.arange(self.size, dtype=jnp.int32) - guess)
        nearest = jnp.argmin(jnp.where(query_mask, distance, 2 * self.size))
        stop = ~jnp.any(query_mask)
        if state.may_stop:
            stop = stop | (num_candidates <= 1)
        return stop_if(stop, nearest)

    def tell(
        self, state: BisectionState, query: Index, outcome: Float[Array, "outcome"]
    ) -> BisectionState:
        """Cuts the version space."""
        return BisectionState(state.space.narrow(query, outcome[0]), state.may_stop)

    def recommend(self, state: BisectionState) -> Index:
        """The smallest number that is still possible."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: BisectionState) -> Float[Array, "hypotheses"]:
        """Uniform over the version space."""
        return interval_log_posterior(state.space, self.size)


def make_bisection(family: BinarySearch) -> BisectionExplorer:
    """Optimal search in a binary-search family."""
    return BisectionExplorer(family.size)
