"""UCB1: pull the arm that may be best."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.reward_explorer import (
    AbstractRewardRule,
    RewardExplorer,
    RewardLaw,
)
from icpe.families.bandit.rewards import RewardSums


class UpperBounds(AbstractRewardRule):
    """Largest upper confidence bound, mean + sqrt(8 s^2 ln t / n).

    UCB1 of Auer, Cesa-Bianchi and Fischer 2002, "Finite-time analysis of the multiarmed
    bandit problem", whose rewards in [0, 1] have s = 1/2; here s is the known noise of
    the arm. Its regret is of order ln t on every task (Theorem 1). Each arm is pulled
    once first.
    """

    def preferences(
        self, rewards: RewardSums, law: RewardLaw, *, key: PRNGKey
    ) -> Float[Array, "arms"]:
        counts = rewards.counts.astype(rewards.sums.dtype)
        time = jnp.maximum(jnp.sum(counts), 1.0)
        pulled = jnp.maximum(counts, 1.0)
        width = law.noise * jnp.sqrt(8.0 * jnp.log(time) / pulled)
        return jnp.where(counts > 0, rewards.sums / pulled + width, jnp.inf)


def make_ucb(family: AbstractTaskFamily) -> RewardExplorer:
    """UCB1 for a bandit."""
    return RewardExplorer("ucb", family, UpperBounds())
