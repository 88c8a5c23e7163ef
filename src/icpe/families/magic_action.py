"""The magic action: one arm's reward points to the best of the others."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.checks import check_between
from icpe.core.family import (
    Limits,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec, reveal
from icpe.families.bandit.bounds import sample_tasks, time_bounds
from icpe.families.bandit.family import AbstractBandit
from icpe.families.bandit.rewards import RewardSums, arm_names
from icpe.theory.gaussian_gap import best_arm_log_posterior
from icpe.theory.gaussian_gap_gains import best_arm_information_gains, rewards_needed
from icpe.theory.magic_action import magic_action_time

_LOWEST_MEAN, _MEAN_RANGE = 1.0, 4.0
"""Regular means of the magic action are uniform on [1, 5]."""

_NUM_NODES = 24
_LEAST_NOISE = 1e-4
"""Less noise than this counts as this: two means so close are told apart or not, as
chance will have it, once in ten thousand tasks."""


class MagicTask(eqx.Module):
    """Means of the arms, the magic arm first, and the noise of the magic arm."""

    means: Float[Array, "arms"]
    magic_noise: Scalar


class MagicAction(AbstractBandit):
    """Arm 0 is known to be magic: its mean says which of the others is the best.

    The means of arms 1..K-1 are uniform on [1, 5]; that of arm 0 is phi(best), where
    phi of the i-th arm, counted from 1, is i / K. The reward of arm 0 has standard
    deviation `magic_noise`, the others 1 - `magic_noise`: with magic noise 0 one pull
    of arm 0 tells everything, with 1 it tells little and one pull of each other arm
    does. Arm 0 is never the answer.

    With `vary_noise` each task has its own magic noise, drawn uniformly and revealed
    in the first outcome, so that one explorer serves all noise levels.
    """

    num_arms: int = parameter(5, "number of arms K, the magic one included", at_least=3)
    magic_noise: float = parameter(
        0.1, "standard deviation of the magic arm", at_least=0.0, at_most=1.0
    )
    horizon: int = parameter(100, "most queries in an episode", at_least=1)
    vary_noise: bool = parameter(
        False, "draw the magic noise, and reveal it", rare=True
    )
    lowest_noise: float = parameter(
        0.0, "with vary_noise: the smallest magic noise", rare=True
    )
    highest_noise: float = parameter(
        1.0,
        "with vary_noise: the largest magic noise",
        rare=True,
        at_least=0.0,
        at_most=1.0,
    )

    def __check_init__(self):
        check_ranges(self)
        check_between("lowest_noise", self.lowest_noise, 0.0, self.highest_noise)

    @property
    def spec(self) -> TaskSpec:
        names = ("the magic arm", *arm_names(self.num_arms)[1:])
        spec = TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon,
            outcome_shift=(2.5,),
            outcome_scale=(2.5,),
            query_names=names,
            hypothesis_names=names,
            outcome_names=("reward",),
            question="Pull {query}: what is the reward?",
            reveals=False,
            may_end=False,
        )
        return reveal(spec, "magic noise", scale=1.0) if self.vary_noise else spec

    def sample_task(self, *, key: PRNGKey) -> MagicTask:
        """Draws the regular means, and the noise if it varies."""
        means_key, noise_key = jr.split(key)
        means = jr.uniform(means_key, (self.num_arms,), minval=1.0, maxval=5.0)
        best = 1 + jnp.argmax(means[1:])
        noise = jnp.asarray(self.magic_noise, jnp.float32)
        if self.vary_noise:
            noise = jr.uniform(
                noise_key, (), minval=self.lowest_noise, maxval=self.highest_noise
            )
        pointer = (best + 1).astype(jnp.float32) / self.num_arms
        return MagicTask(means.at[0].set(pointer), noise)

    def reset(self, task: MagicTask, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the magic noise if it varies."""
        if not self.vary_noise:
            return plain_reset(self.spec)
        return plain_step(self.spec, jnp.stack([jnp.zeros(()), task.magic_noise]))

    def step(
        self, state: None, query: Index, task: MagicTask, *, key: PRNGKey
    ) -> StepResult:
        noise = jnp.where(query == 0, task.magic_noise, 1.0 - task.magic_noise)
        reward = (task.means[query] + noise * jr.normal(key))[None]
        if self.vary_noise:
            reward = jnp.append(reward, 0.0)
        return plain_step(self.spec, reward)

    def hypothesis(self, task: MagicTask) -> Index:
        """The best arm, which is never the magic one."""
        return 1 + jnp.argmax(task.means[1:])

    def exact_belief(self) -> "MagicActionBelief":
        return MagicActionBelief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """The paper's theorem; the optimum where the pointer or the means are clear."""
        noises = {self.magic_noise}
        if self.vary_noise:
            noises = {self.lowest_noise, self.highest_noise}
        exact: Limits = {}
        for noise, queries in ((0.0, 1), (1.0, self.num_arms - 1)):
            if noises == {noise}:
                exact = {"mean_queries": float(queries), "max_queries": queries}
        code = np.arange(1, self.num_arms + 1) / self.num_arms

        def time(task: MagicTask) -> Scalar:
            noise = task.magic_noise
            pointers = jnp.asarray(code, jnp.float32)
            return magic_action_time(task.means, pointers, noise, 1.0 - noise).time

        times = jax.vmap(time)(sample_tasks(self, key))
        return exact | time_bounds(times, error_prob, finite_mean=True)

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"]:
        """That of the magic arm, and 1 less that of the others."""
        magic = first_outcome[1] if self.vary_noise else self.magic_noise
        is_magic = jnp.arange(self.num_arms) == 0
        return jnp.where(is_magic, magic, 1.0 - magic).astype(first_outcome.dtype)


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
