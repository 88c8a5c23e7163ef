"""Information-directed sampling for regret, with a Gaussian prior."""

import jax
import jax.numpy as jnp
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

_NUM_DRAWS = 128
_NUM_SHARES = 17


class InformationRatio(AbstractRewardRule):
    """Minimizes (expected regret)^2 / information over laws on two arms.

    Variance-based information-directed sampling (Russo and Van Roy 2018, "Learning to
    optimize via information-directed sampling"): the information of an arm is the
    variance of its mean given which arm is best, estimated from 128 draws of
    independent Gaussian posteriors. The best law has at most two arms, whose shares
    are searched on a grid of 17. Bayesian regret of order sqrt(K ln(K) t / 2) for
    rewards in an interval of length 1.
    """

    def preferences(
        self, rewards: RewardSums, law: RewardLaw, *, key: PRNGKey
    ) -> Float[Array, "arms"]:
        """The arm drawn by the best law first, then by expected reward."""
        sample_key, coin_key = jr.split(key)
        belief = GaussianPosterior.of(rewards, law)
        size = belief.mean.shape[0]
        normal = jr.normal(sample_key, (_NUM_DRAWS, size), belief.mean.dtype)
        draws = belief.mean[None] + belief.deviation[None] * normal
        is_best = jax.nn.one_hot(jnp.argmax(draws, axis=1), size, dtype=draws.dtype)
        probs = jnp.mean(is_best, axis=0)
        center = jnp.mean(draws, axis=0)
        given = (is_best.T @ draws) / jnp.maximum(probs[:, None] * _NUM_DRAWS, 1.0)
        information = probs @ (given - center[None]) ** 2
        regret = jnp.mean(jnp.max(draws, axis=1)) - center
        arm = _draw_by_ratio(regret, information, key=coin_key)
        return jnp.where(jnp.arange(size) == arm, jnp.inf, center)


def _draw_by_ratio(regret, information, *, key: PRNGKey):
    """An arm drawn from the two-arm law with the least information ratio."""
    size = regret.shape[0]
    share = jnp.linspace(0.0, 1.0, _NUM_SHARES, dtype=regret.dtype)[None, None]

    def mixed(values):
        return share * values[:, None, None] + (1.0 - share) * values[None, :, None]

    tiny = jnp.finfo(regret.dtype).tiny
    ratio = mixed(regret) ** 2 / jnp.maximum(mixed(information), tiny)
    index = jnp.argmin(ratio.reshape(-1))
    first, rest = index // (size * _NUM_SHARES), index % (size * _NUM_SHARES)
    second, share_index = rest // _NUM_SHARES, rest % _NUM_SHARES
    coin = jr.uniform(key) < share.reshape(-1)[share_index]
    return jnp.where(coin, first, second)


def make_gaussian_ids(family: AbstractTaskFamily) -> RewardExplorer:
    """Information-directed sampling for a bandit."""
    return RewardExplorer("gaussian-ids", family, InformationRatio())
