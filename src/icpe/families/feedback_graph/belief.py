"""Which arm of a feedback graph is best, given all rewards that were revealed."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief
from icpe.families.bandit_beliefs import RewardSums
from icpe.families.feedback_graph.law import FeedbackGraph
from icpe.theory.gaussian_gap import best_arm_log_posterior, nodes_needed
from icpe.theory.one_best import one_best_information_gains, one_best_log_posterior

_HIGH, _LOW = 1.0, 0.5
"""Means of the prior `one-best`."""


class GraphMeansBelief(AbstractBelief):
    """The prior `uniform`: means independent and uniform on [0, 1].

    Whoever revealed a reward, it counts for its own arm, so the posterior is that of a
    Gaussian bandit without a minimum gap.
    """

    family: FeedbackGraph

    def init(self, first_outcome: Float[Array, "outcome"]) -> RewardSums:
        """Nothing revealed yet."""
        return RewardSums.none(self.family.num_arms, first_outcome.dtype)

    def update(
        self, state: RewardSums, query: Index, outcome: Float[Array, "outcome"]
    ) -> RewardSums:
        """Counts the rewards that were revealed."""
        return add_revealed(state, outcome)

    def log_posterior(self, state: RewardSums) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature."""
        noise = self.family.noise
        return best_arm_log_posterior(
            state.counts,
            state.sums,
            min_gap=0.0,
            noise=noise,
            mean_range=1.0,
            num_nodes=nodes_needed(0.0, noise, self.family.spec.horizon),
        )


class OneBestBelief(AbstractPredictiveBelief):
    """The prior `one-best`: one arm at random has mean 1, the others 0.5."""

    family: FeedbackGraph

    def init(self, first_outcome: Float[Array, "outcome"]) -> RewardSums:
        """Nothing revealed yet."""
        return RewardSums.none(self.family.num_arms, first_outcome.dtype)

    def update(
        self, state: RewardSums, query: Index, outcome: Float[Array, "outcome"]
    ) -> RewardSums:
        """Counts the rewards that were revealed."""
        return add_revealed(state, outcome)

    def log_posterior(self, state: RewardSums) -> Float[Array, "hypotheses"]:
        """In closed form."""
        noise = self.family.noise
        return one_best_log_posterior(
            state.counts, state.sums, high=_HIGH, low=_LOW, noise=noise
        )

    def information_gains(self, state: RewardSums) -> Float[Array, "queries"]:
        """Of all rewards that a query may reveal, together."""
        return one_best_information_gains(
            self.log_posterior(state),
            jnp.asarray(self.family.graph, state.sums.dtype),
            (_HIGH - _LOW) / self.family.noise,
        )


def graph_belief(family: FeedbackGraph) -> AbstractBelief:
    """The exact belief for the family's prior."""
    if family.prior == "one-best":
        return OneBestBelief(family)
    return GraphMeansBelief(family)


def add_revealed(state: RewardSums, outcome: Float[Array, "outcome"]) -> RewardSums:
    """The sums after an outcome: first the rewards, then the flags of the revealed."""
    num_arms = state.counts.shape[0]
    revealed = outcome[num_arms:] > 0.5
    return RewardSums(
        state.counts + revealed.astype(jnp.int32),
        state.sums + jnp.where(revealed, outcome[:num_arms], 0.0),
    )
