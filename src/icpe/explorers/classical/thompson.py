"""Thompson sampling: pull an arm as often as it is believed best."""

import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.reward_explorer import (
    AbstractRewardRule,
    GaussianPosterior,
    RewardExplorer,
    RewardLaw,
)
from icpe.families.bandit.rewards import RewardSums


class PosteriorDraw(AbstractRewardRule):
    """Draws means from independent Gaussian posteriors and pulls the largest.

    Thompson 1933; its regret is of order ln t on every task for Gaussian rewards with a
    flat enough prior (Agrawal and Goyal 2017, "Near-optimal regret bounds for Thompson
    sampling").
    """

    def preferences(
        self, rewards: RewardSums, law: RewardLaw, *, key: PRNGKey
    ) -> Float[Array, "arms"]:
        belief = GaussianPosterior.of(rewards, law)
        noise = jr.normal(key, belief.mean.shape, belief.mean.dtype)
        return belief.mean + belief.deviation * noise


def make_thompson(family: AbstractTaskFamily) -> RewardExplorer:
    """Thompson sampling for a bandit."""
    return RewardExplorer("thompson", family, PosteriorDraw())
