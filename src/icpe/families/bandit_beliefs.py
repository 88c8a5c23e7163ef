"""Which arm of a plain bandit is best: Gaussian, Bernoulli and revealed means."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, Scalar
from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief
from icpe.families.bandits import DeterministicBandit, GaussianBandit
from icpe.families.bernoulli_bandit import BernoulliBandit
from icpe.theory.bernoulli_best_arm import bernoulli_best_arm_log_posterior
from icpe.theory.deterministic import revealed_best_log_posterior
from icpe.theory.gaussian_gap import best_arm_log_posterior, nodes_needed
from icpe.theory.gaussian_gap_gains import best_arm_information_gains, rewards_needed


class RewardSums(eqx.Module):
    """Rewards seen of each arm, and their sum."""

    counts: Int[Array, "arms"]
    sums: Float[Array, "arms"]

    @staticmethod
    def none(num_arms: int, dtype) -> "RewardSums":
        """Nothing seen yet."""
        return RewardSums(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms, dtype))

    def add(self, arm: Index, reward: Scalar) -> "RewardSums":
        """One more reward of an arm."""
        pulled = jnp.arange(self.counts.shape[0]) == arm
        return RewardSums(
            self.counts + pulled.astype(jnp.int32),
            self.sums + jnp.where(pulled, reward, 0.0),
        )


class GaussianState(eqx.Module):
    """The rewards, and which arms there are."""

    rewards: RewardSums
    exists: Bool[Array, "arms"]


class GaussianGapBelief(AbstractPredictiveBelief):
    """Which Gaussian arm is best, given the minimum gap."""

    family: GaussianBandit

    def init(self, first_outcome: Float[Array, "outcome"]) -> GaussianState:
        """No pulls yet; the number of arms is revealed where it varies."""
        rewards = RewardSums.none(self.family.num_arms, first_outcome.dtype)
        return GaussianState(rewards, _existing(self.family, first_outcome))

    def update(
        self, state: GaussianState, query: Index, outcome: Float[Array, "outcome"]
    ) -> GaussianState:
        """Counts one pull."""
        return GaussianState(state.rewards.add(query, outcome[0]), state.exists)

    def log_posterior(self, state: GaussianState) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature."""
        family = self.family
        return best_arm_log_posterior(
            state.rewards.counts,
            state.rewards.sums,
            min_gap=family.min_gap,
            noise=family.noise,
            mean_range=self._mean_range(state),
            exists=state.exists,
            num_nodes=nodes_needed(family.min_gap, family.noise, family.horizon),
        )

    def information_gains(self, state: GaussianState) -> Float[Array, "queries"]:
        """By two-dimensional quadrature."""
        family = self.family
        return best_arm_information_gains(
            state.rewards.counts,
            state.rewards.sums,
            min_gap=family.min_gap,
            noise=family.noise,
            mean_range=self._mean_range(state),
            exists=state.exists,
            num_nodes=nodes_needed(family.min_gap, family.noise, family.horizon),
            num_rewards=rewards_needed(family.noise, family.mean_range),
        )

    def _mean_range(self, state: GaussianState) -> Scalar | float:
        if not self.family.vary_arms or self.family.max_mean:
            return self.family.mean_range
        return 0.4 * jnp.sum(state.exists).astype(state.rewards.sums.dtype)


class SuccessCounts(eqx.Module):
    """Successes and failures of each arm."""

    successes: Float[Array, "arms"]
    failures: Float[Array, "arms"]


class BernoulliBelief(AbstractBelief):
    """Which Bernoulli arm is best, under Beta priors and the minimum gap."""

    family: BernoulliBandit

    def init(self, first_outcome: Float[Array, "outcome"]) -> SuccessCounts:
        """No visitors yet."""
        nothing = jnp.zeros(self.family.num_arms, first_outcome.dtype)
        return SuccessCounts(nothing, nothing)

    def update(
        self, state: SuccessCounts, query: Index, outcome: Float[Array, "outcome"]
    ) -> SuccessCounts:
        """Counts one batch of visitors."""
        shown = jnp.arange(self.family.num_arms) == query
        failed = self.family.batch_size - outcome[0]
        return SuccessCounts(
            state.successes + jnp.where(shown, outcome[0], 0.0),
            state.failures + jnp.where(shown, failed, 0.0),
        )

    def log_posterior(self, state: SuccessCounts) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature."""
        return bernoulli_best_arm_log_posterior(
            self.family.prior_successes + state.successes,
            self.family.prior_failures + state.failures,
            self.family.min_gap,
            self._num_panels,
        )

    @property
    def _num_panels(self) -> int:
        """As `bernoulli_best_arm_log_posterior` says, for all visitors at one arm."""
        visitors = self.family.horizon * self.family.batch_size
        panels = min(max(16, math.ceil(32 * math.sqrt(visitors / 500))), 256)
        smallest = min(self.family.prior_successes, self.family.prior_failures)
        return panels if smallest >= 0.5 else 2 * panels


class RevealedMeans(eqx.Module):
    """The arms whose mean is known, their means, and which arms there are."""

    tried: Bool[Array, "arms"]
    values: Float[Array, "arms"]
    exists: Bool[Array, "arms"]


class RevealedMeansBelief(AbstractBelief):
    """Which arm is best when one pull reveals its mean."""

    family: DeterministicBandit

    def init(self, first_outcome: Float[Array, "outcome"]) -> RevealedMeans:
        """No means yet; the number of arms is revealed where it varies."""
        size = self.family.num_arms
        return RevealedMeans(
            jnp.zeros(size, bool),
            jnp.zeros(size, first_outcome.dtype),
            _existing(self.family, first_outcome),
        )

    def update(
        self, state: RevealedMeans, query: Index, outcome: Float[Array, "outcome"]
    ) -> RevealedMeans:
        """Reveals one mean."""
        pulled = jnp.arange(self.family.num_arms) == query
        return RevealedMeans(
            state.tried | pulled,
            jnp.where(pulled, outcome[0], state.values),
            state.exists,
        )

    def log_posterior(self, state: RevealedMeans) -> Float[Array, "hypotheses"]:
        """In closed form."""
        return revealed_best_log_posterior(state.tried, state.values, state.exists)


def _existing(
    family: GaussianBandit | DeterministicBandit, first_outcome: Float[Array, "outcome"]
) -> Bool[Array, "arms"]:
    """The arms that there are: all, or as many as the first outcome reveals."""
    if not family.vary_arms:
        return jnp.ones(family.num_arms, bool)
    return jnp.arange(family.num_arms, dtype=first_outcome.dtype) < first_outcome[1]
