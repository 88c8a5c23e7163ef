"""Best-arm identification with Gaussian rewards and a minimum gap."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    Difficulty,
    Limits,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.families.bandit.arms import GaussianArms
from icpe.families.bandit.bounds import gaussian_bounds, sample_tasks
from icpe.families.bandit.family import AbstractBandit, gap_difficulty
from icpe.families.bandit.rewards import Means, RewardSums, arm_names
from icpe.families.bandit.varying import (
    check_numbers,
    draw_number,
    existing_arms,
    for_any_number,
    keep_arms,
    reveal_number,
    reward_beside_zero,
)
from icpe.theory.gaussian_gap import best_arm_log_posterior, nodes_needed
from icpe.theory.gaussian_gap_gains import best_arm_information_gains, rewards_needed


class GaussianBandit(AbstractBandit):
    """Arms with Gaussian rewards of known noise; which has the largest mean?

    The means are uniform on [0, max_mean] given that the best leads the second by
    at least `min_gap`. K uniforms on [0, max_mean - min_gap], with the gap then added
    to the largest, have exactly this conditional law (top spacing of uniforms).

    With `vary_arms` each task has its own number of arms, drawn uniformly; the first
    outcome reveals it beside the reward and the mask forbids the other arms, whose
    means are -1. One explorer then serves all numbers of arms.
    """

    num_arms: int = parameter(10, "number of arms K", at_least=2)
    min_gap: float = parameter(
        0.4, "smallest lead of the best arm over the second", at_least=0.0
    )
    noise: float = parameter(0.5, "standard deviation of a reward", positive=True)
    max_mean: float = parameter(
        0.0, "largest possible mean; 0 means 0.4 * num_arms", rare=True, at_least=0.0
    )
    horizon: int = parameter(100, "most queries in an episode", at_least=1)
    vary_arms: bool = parameter(
        False, "draw the number of arms, and reveal it", rare=True
    )
    fewest_arms: int = parameter(
        2, "with vary_arms: the smallest number of arms", rare=True
    )
    most_arms: int = parameter(
        0, "with vary_arms: the largest; 0 means num_arms", rare=True
    )

    def __check_init__(self):
        check_ranges(self)
        check_numbers(self)
        fewest = self.fewest_arms if self.vary_arms else self.num_arms
        smallest_range = self.max_mean or 0.4 * fewest
        if not self.min_gap < smallest_range:
            raise InvalidParameterError(
                f"min_gap must be smaller than the range of the means "
                f"{smallest_range:g}; got {self.min_gap}."
            )

    @property
    def mean_range(self) -> float:
        """The means lie in [0, mean_range]."""
        return self.max_mean or 0.4 * self.num_arms

    def in_words(self) -> str:
        arms, top = f"{self.num_arms} arms", f"{self.mean_range:g}"
        if self.vary_arms:
            arms = f"{self.fewest_arms} to {self.most_arms or self.num_arms} arms"
            top = f"{self.max_mean:g}" if self.max_mean else "0.4 times their number"
        return (
            f"{arms} with means between 0 and {top}; the best leads by at least "
            f"{self.min_gap:g}; a reward has standard deviation {self.noise:g}"
        )

    @property
    def spec(self) -> TaskSpec:
        half = self.mean_range / 2
        spec = TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon,
            outcome_shift=(half,),
            outcome_scale=(half,),
            query_names=arm_names(self.num_arms),
            hypothesis_names=arm_names(self.num_arms),
            outcome_names=("reward",),
            question="Pull {query}: what is the reward?",
            queries_alike=True,
            reveals=False,
            may_end=False,
        )
        return for_any_number(spec) if self.vary_arms else spec

    def sample_task(self, *, key: PRNGKey) -> Means:
        """Draws the means by the exact conditional sampler."""
        if self.vary_arms:
            return self._sample_some_arms(key=key)
        uniforms = jr.uniform(
            key, (self.num_arms,), maxval=self.mean_range - self.min_gap
        )
        return uniforms.at[jnp.argmax(uniforms)].add(self.min_gap)

    def _sample_some_arms(self, *, key: PRNGKey) -> Means:
        number_key, means_key = jr.split(key)
        number = draw_number(self, key=number_key)
        mean_range = self.max_mean or 0.4 * number.astype(jnp.float32)
        means = jr.uniform(means_key, (self.num_arms,)) * (mean_range - self.min_gap)
        means = keep_arms(means, number)
        return means.at[jnp.argmax(means)].add(self.min_gap)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the number of arms if it varies."""
        return reveal_number(task) if self.vary_arms else plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        reward = (task[query] + self.noise * jr.normal(key))[None]
        if self.vary_arms:
            return reward_beside_zero(reward, task)
        return plain_step(self.spec, reward)

    def hypothesis(self, task: Means) -> Index:
        return jnp.argmax(task)

    def query_mask(
        self, first_outcome: Float[Array, "outcome"], history: History
    ) -> Bool[Array, "queries"]:
        return existing_arms(self, first_outcome)

    def exact_belief(self) -> "GaussianGapBelief":
        return GaussianGapBelief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """Bounds for methods that are correct on every task."""
        return gaussian_bounds(
            sample_tasks(self, key),
            error_prob,
            noise=self.noise,
            min_gap=self.min_gap,
            finite_mean=self.min_gap > 0,
        )

    def task_difficulty(self) -> Difficulty:
        return gap_difficulty()

    def arms(self) -> GaussianArms:
        return GaussianArms(self.num_arms, float(self.noise))

    def check_means(self, means: Sequence[float]) -> None:
        mean_range = self.max_mean or 0.4 * len(means)
        for mean in means:
            if not 0.0 <= mean <= mean_range:
                raise InvalidParameterError(
                    f"means must lie between 0 and max_mean = {mean_range:g}; got "
                    f"{mean:g}; set a larger max_mean, or add one number to all "
                    "means, which changes no bound."
                )

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"]:
        return jnp.full(self.num_arms, self.noise, first_outcome.dtype)


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
        return GaussianState(rewards, existing_arms(self.family, first_outcome))

    def update(
        self, state: GaussianState, query: Index, outcome: Float[Array, "outcome"]
    ) -> GaussianState:
        return GaussianState(state.rewards.add(query, outcome[0]), state.exists)

    def log_posterior(self, state: GaussianState) -> Float[Array, "hypotheses"]:
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
