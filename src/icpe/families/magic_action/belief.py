"""Which arm is best when arm 0 points to it: with noise, or at its second pull."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float

from icpe.core.arrays import Index, Scalar
from icpe.core.belief import AbstractPredictiveBelief
from icpe.families.bandit_beliefs import RewardSums
from icpe.families.magic_action.law import MagicAction
from icpe.families.two_pull_bandit import TwoPullBandit
from icpe.theory.gaussian_gap import best_arm_log_posterior
from icpe.theory.gaussian_gap_gains import best_arm_information_gains, rewards_needed

_LOWEST_MEAN, _MEAN_RANGE = 1.0, 4.0
"""Regular means of the magic action are uniform on [1, 5]."""

_NUM_NODES = 24
_LEAST_NOISE = 1e-4
"""Less noise than this counts as this: two means so close are told apart or not, as
chance will have it, once in ten thousand tasks."""


class MagicState(eqx.Module):
    """The rewards of all arms, and the noise of the magic one."""

    rewards: RewardSums
    magic_noise: Scalar


class MagicActionBelief(AbstractPredictiveBelief):
    """The posterior of the regular arms times the likelihood of the magic rewards.

    Given which arm is best, the magic arm and the regular arms are independent.
    """

    family: MagicAction

    def init(self, first_outcome: Float[Array, "outcome"]) -> MagicState:
        """No pulls yet; the magic noise is revealed where it varies."""
        family = self.family
        noise = first_outcome[1] if family.vary_noise else family.magic_noise
        return MagicState(
            RewardSums.none(family.num_arms, first_outcome.dtype),
            jnp.asarray(noise, first_outcome.dtype),
        )

    def update(
        self, state: MagicState, query: Index, outcome: Float[Array, "outcome"]
    ) -> MagicState:
        """Counts one pull; regular rewards from the lowest mean on."""
        reward = outcome[0] - jnp.where(query == 0, 0.0, _LOWEST_MEAN)
        return MagicState(state.rewards.add(query, reward), state.magic_noise)

    def log_posterior(self, state: MagicState) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature."""
        regular = best_arm_log_posterior(
            state.rewards.counts[1:],
            state.rewards.sums[1:],
            min_gap=0.0,
            noise=self._noise(state),
            mean_range=_MEAN_RANGE,
            num_nodes=_NUM_NODES,
        )
        regular = jax.nn.log_softmax(regular + self._log_magic(state))
        return jnp.append(-jnp.inf, regular)

    def information_gains(self, state: MagicState) -> Float[Array, "queries"]:
        """By quadrature over the next reward of each arm.

        For these gains alone, which hardly change any more, the noise of the next
        reward of a regular arm is no less than 1/32 of the range of the means, and
        that of the magic arm no less than 1/8 of the distance between two pointers.
        """
        least = _MEAN_RANGE / 32
        noise = 1.0 - self.family.magic_noise
        if self.family.vary_noise:
            noise = 1.0 - self.family.highest_noise
        smallest = max(noise, least)
        regular = best_arm_information_gains(
            state.rewards.counts[1:],
            state.rewards.sums[1:],
            min_gap=0.0,
            noise=self._noise(state),
            mean_range=_MEAN_RANGE,
            next_noise=jnp.maximum(self._noise(state), least),
            log_weights=self._log_magic(state),
            num_nodes=max(_NUM_NODES, math.ceil(1.5 * _MEAN_RANGE / smallest)),
            num_rewards=rewards_needed(smallest, _MEAN_RANGE),
        )
        probs = jnp.exp(self.log_posterior(state)[1:])
        return jnp.append(self._magic_gain(probs, state.magic_noise), regular)

    @property
    def _pointers(self) -> Float[np.ndarray, "regular"]:
        """What the magic arm pays for each regular arm, but for noise."""
        return np.arange(2, self.family.num_arms + 1) / self.family.num_arms

    def _noise(self, state: MagicState) -> Scalar:
        return jnp.maximum(1.0 - state.magic_noise, _LEAST_NOISE)

    def _log_magic(self, state: MagicState) -> Float[Array, "regular"]:
        """Log-likelihood of the magic rewards for each best arm."""
        count = state.rewards.counts[0].astype(state.rewards.sums.dtype)
        mean = state.rewards.sums[0] / jnp.maximum(count, 1.0)
        pointers = jnp.asarray(self._pointers, mean.dtype)
        noise = jnp.maximum(state.magic_noise, _LEAST_NOISE)
        return -0.5 * count * ((mean - pointers) / noise) ** 2

    def _magic_gain(self, probs: Float[Array, "regular"], noise: Scalar) -> Scalar:
        """Mutual information of the best arm and a mixture of Gaussians."""
        size = self.family.num_arms
        pointers = jnp.asarray(self._pointers, probs.dtype)
        noise = jnp.maximum(noise, 1.0 / (8 * size))
        nodes, weights = np.polynomial.legendre.leggauss(8 * size + 16)
        low, high = pointers[0] - 5.0 * noise, pointers[-1] + 5.0 * noise
        rewards = low + (high - low) * jnp.asarray((nodes + 1) / 2, probs.dtype)
        z = (rewards[:, None] - pointers[None, :]) / noise
        joint = probs[None, :] * jnp.exp(-0.5 * z * z)
        joint = joint * jnp.asarray(weights, probs.dtype)[:, None]
        joint = joint / jnp.sum(joint)
        mixed = jnp.sum(joint, axis=1)
        gain = jnp.sum(entr(mixed)) + jnp.sum(entr(jnp.sum(joint, axis=0)))
        return jnp.maximum(gain - jnp.sum(entr(joint)), 0.0)


class TwoPullState(eqx.Module):
    """The rewards of all arms, and the last of arm 0."""

    rewards: RewardSums
    last_of_zero: Scalar


class TwoPullBelief(AbstractPredictiveBelief):
    """That of a Gaussian bandit until arm 0 is pulled twice, then certainty."""

    family: TwoPullBandit

    def init(self, first_outcome: Float[Array, "outcome"]) -> TwoPullState:
        """No pulls yet."""
        nothing = RewardSums.none(self.family.num_arms, first_outcome.dtype)
        return TwoPullState(nothing, jnp.zeros((), first_outcome.dtype))

    def update(
        self, state: TwoPullState, query: Index, outcome: Float[Array, "outcome"]
    ) -> TwoPullState:
        """Counts one pull."""
        last = jnp.where(query == 0, outcome[0], state.last_of_zero)
        return TwoPullState(state.rewards.add(query, outcome[0]), last)

    def log_posterior(self, state: TwoPullState) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature, or what arm 0 said."""
        arms = jnp.arange(self.family.num_arms)
        regular = best_arm_log_posterior(
            state.rewards.counts[1:],
            state.rewards.sums[1:],
            min_gap=0.0,
            noise=self.family.noise,
            mean_range=1.0,
            num_nodes=_NUM_NODES,
        )
        pointed = jnp.round(state.last_of_zero * self.family.num_arms) - 1.0
        pointed = jnp.clip(pointed, 1, self.family.num_arms - 1).astype(arms.dtype)
        told = jnp.where(arms == pointed, 0.0, -jnp.inf)
        return jnp.where(self._knows(state), told, jnp.append(-jnp.inf, regular))

    def information_gains(self, state: TwoPullState) -> Float[Array, "queries"]:
        """Nothing at the first pull of arm 0, everything at the second."""
        noise = self.family.noise
        regular = best_arm_information_gains(
            state.rewards.counts[1:],
            state.rewards.sums[1:],
            min_gap=0.0,
            noise=noise,
            mean_range=1.0,
            next_noise=max(noise, 1.0 / 64),
            num_nodes=max(_NUM_NODES, min(math.ceil(1.5 / noise), 96)),
            num_rewards=rewards_needed(noise, 1.0),
        )
        entropy = jnp.sum(entr(jnp.exp(self.log_posterior(state))))
        of_zero = jnp.where(state.rewards.counts[0] == 1, entropy, 0.0)
        gains = jnp.append(of_zero, regular)
        return jnp.where(self._knows(state), 0.0, gains)

    def _knows(self, state: TwoPullState):
        return state.rewards.counts[0] >= 2
