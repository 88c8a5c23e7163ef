"""Explorers that collect rewards: the shell of UCB, Thompson sampling and IDS.

They were made for small regret, not to identify the best arm, and know nothing of
what one arm may tell about another.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.errors import OperatingPointError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if
from icpe.explorers.classical.served import count_arms
from icpe.families.bandit.family import AbstractBandit
from icpe.families.bandit.rewards import RewardSums

_LEAST_NOISE = 1e-3
"""Less noise than this counts as this, in units of the spread of rewards."""


class RewardLaw(eqx.Module):
    """How rewards vary: within an arm, and the Gaussian prior of the means."""

    noise: Float[Array, "arms"]
    prior_mean: float = eqx.field(static=True)
    prior_spread: float = eqx.field(static=True)


class GaussianPosterior(eqx.Module):
    """Independent Gaussian beliefs about the means."""

    mean: Float[Array, "arms"]
    deviation: Float[Array, "arms"]

    @staticmethod
    def of(rewards: RewardSums, law: RewardLaw) -> "GaussianPosterior":
        """After some rewards."""
        precision = 1.0 / law.noise**2
        prior = 1.0 / law.prior_spread**2
        counts = rewards.counts.astype(rewards.sums.dtype)
        total = prior + counts * precision
        mean = (prior * law.prior_mean + rewards.sums * precision) / total
        return GaussianPosterior(mean, 1.0 / jnp.sqrt(total))


class AbstractRewardRule(eqx.Module):
    """Which arm to pull for its reward."""

    @abc.abstractmethod
    def preferences(
        self, rewards: RewardSums, law: RewardLaw, *, key: PRNGKey
    ) -> Float[Array, "arms"]:
        """A score for each arm; the allowed one with the largest is pulled."""


class RewardState(eqx.Module):
    """The rewards so far and their law."""

    rewards: RewardSums
    law: RewardLaw


class RewardExplorer(AbstractExplorer):
    """Pulls arms for their rewards, and names the one it believes best."""

    name: str = eqx.field(static=True)
    family: AbstractTaskFamily
    rule: AbstractRewardRule

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> RewardState:
        """Serves a budget, the horizon of the regret."""
        if operating_point.regime is not Regime.BUDGET:
            raise OperatingPointError(
                f"Explorer {self.name!r} collects rewards and has no rule to stop; ask "
                "for budget."
            )
        law = reward_law(self.family, first_outcome)
        return RewardState(RewardSums.none(spec.num_queries, first_outcome.dtype), law)

    def ask(
        self, state: RewardState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The allowed arm that the rule prefers."""
        scores = self.rule.preferences(state.rewards, state.law, key=key)
        query = jnp.argmax(jnp.where(query_mask, scores, -jnp.inf))
        return stop_if(~jnp.any(query_mask), query)

    def tell(
        self, state: RewardState, query: Index, outcome: Float[Array, "outcome"]
    ) -> RewardState:
        return RewardState(state.rewards.add(query, outcome[0]), state.law)

    def recommend(self, state: RewardState) -> Index:
        """The arm with the largest mean under the Gaussian belief."""
        return jnp.argmax(GaussianPosterior.of(state.rewards, state.law).mean)

    def log_posterior(self, state: RewardState) -> None:
        """None: its belief is about rewards, not about which arm is best."""
        return None


def reward_law(
    family: AbstractTaskFamily, first_outcome: Float[Array, "outcome"]
) -> RewardLaw:
    """The noise of each arm, and a prior as wide as the family's rewards.

    The prior is that of the spec's shift and scale for every arm alike.
    """
    count_arms(family)
    assert isinstance(family, AbstractBandit)
    noise = family.reward_noise(first_outcome)
    assert noise is not None
    spec = family.spec
    shift = spec.outcome_shift[0] if spec.outcome_shift else 0.0
    scale = spec.outcome_scale[0] if spec.outcome_scale else 1.0
    noise = jnp.maximum(noise, _LEAST_NOISE * scale)
    return RewardLaw(noise, float(shift), float(scale))
