"""Top-two sampling with the exact posterior: a strong rule that knows the prior."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.belief import AbstractBelief, belief_for
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint
from icpe.explorers.rules.stopping import (
    check_threshold,
    is_confident,
    stop_if,
    stop_threshold,
)


class TopTwoState(eqx.Module):
    """The belief's statistics, the pulls of each arm, and when to stop.

    The threshold is None where it never stops.
    """

    belief: PyTree
    counts: Int[Array, "arms"]
    threshold: Scalar | None


class TopTwoExplorer(AbstractExplorer):
    """Pulls the less sampled of the two most probable arms.

    The leader and challenger are the two largest entries of the exact posterior (a
    deterministic relative of top-two sampling, Russo, "Simple Bayesian Algorithms for
    Best-Arm Identification", 2016); equal counts favor the leader. It stops when the
    largest posterior reaches the threshold, by default 1 - error_prob. A posterior
    overshoots its threshold at the stop, so the default errs less than asked; the
    `threshold` tuned to the accuracy asked for needs fewer queries.
    """

    belief: AbstractBelief
    threshold: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_threshold(self.threshold)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> TopTwoState:
        """Serves an error probability or a budget."""
        threshold = stop_threshold("top-two", spec, operating_point, self.threshold)
        return TopTwoState(
            self.belief.init(first_outcome),
            jnp.zeros(spec.num_queries, jnp.int32),
            threshold,
        )

    def ask(
        self, state: TopTwoState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The less sampled of the two most probable allowed arms."""
        log_posterior = self.log_posterior(state)
        lowest = jnp.finfo(log_posterior.dtype).min
        score = jnp.where(query_mask, jnp.maximum(log_posterior, lowest), -jnp.inf)
        leader = jnp.argmax(score)
        others = jnp.arange(score.shape[0]) != leader
        challenger = jnp.argmax(jnp.where(others, score, -jnp.inf))
        fewer = state.counts[challenger] < state.counts[leader]
        query = jnp.where(fewer & query_mask[challenger], challenger, leader)
        stop = ~jnp.any(query_mask)
        if state.threshold is not None:
            stop = stop | is_confident(log_posterior, state.threshold)
        return stop_if(stop, query)

    def tell(
        self, state: TopTwoState, query: Index, outcome: Float[Array, "outcome"]
    ) -> TopTwoState:
        """Updates the belief and counts the pull."""
        pulled = jnp.arange(state.counts.shape[0]) == query
        return TopTwoState(
            self.belief.update(state.belief, query, outcome),
            state.counts + pulled.astype(jnp.int32),
            state.threshold,
        )

    def recommend(self, state: TopTwoState) -> Index:
        """The most probable arm."""
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: TopTwoState) -> Float[Array, "hypotheses"]:
        """The exact posterior."""
        return self.belief.log_posterior(state.belief)


def make_top_two(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        float | None, "posterior at which it stops; 1 - error_prob if left out"
    ] = None,
) -> TopTwoExplorer:
    """The top-two explorer of a family whose queries are its hypotheses."""
    return TopTwoExplorer(belief_for(family), threshold)
