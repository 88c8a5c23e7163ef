"""Best-arm identification without noise: one pull reveals an arm's mean."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractBelief
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
from icpe.families.bandit.family import AbstractBandit, gap_difficulty
from icpe.families.bandit.rewards import Means, arm_names
from icpe.families.bandit.varying import (
    check_numbers,
    draw_number,
    existing_arms,
    for_any_number,
    keep_arms,
    numbers_of_arms,
    reveal_number,
    reward_beside_zero,
)
from icpe.theory.deterministic import revealed_best_log_posterior


class DeterministicBandit(AbstractBandit):
    """Arms whose means are uniform on [0, 1] and are revealed by one pull.

    With `vary_arms` each task has its own number of arms, as in `GaussianBandit`.
    """

    num_arms: int = parameter(10, "number of arms K", at_least=2)
    horizon: int = parameter(
        0, "most queries in an episode; 0 means num_arms", rare=True, at_least=0
    )
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

    def in_words(self) -> str:
        arms = f"{self.num_arms} arms"
        if self.vary_arms:
            arms = f"{self.fewest_arms} to {self.most_arms or self.num_arms} arms"
        return f"{arms} with rewards between 0 and 1, which a pull shows without noise"

    @property
    def spec(self) -> TaskSpec:
        spec = TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon or self.num_arms,
            outcome_shift=(0.5,),
            outcome_scale=(0.5,),
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
        if not self.vary_arms:
            return jr.uniform(key, (self.num_arms,))
        number_key, means_key = jr.split(key)
        number = draw_number(self, key=number_key)
        return keep_arms(jr.uniform(means_key, (self.num_arms,)), number)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the number of arms if it varies."""
        return reveal_number(task) if self.vary_arms else plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        """Reveals the mean of the pulled arm."""
        reward = task[query][None]
        if self.vary_arms:
            return reward_beside_zero(reward, task)
        return plain_step(self.spec, reward)

    def hypothesis(self, task: Means) -> Index:
        return jnp.argmax(task)

    def query_mask(
        self, first_outcome: Float[Array, "outcome"], history: History
    ) -> Bool[Array, "queries"]:
        return existing_arms(self, first_outcome)

    def exact_belief(self) -> "RevealedMeansBelief":
        return RevealedMeansBelief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """An arm that was never tried may be the best, so all of them must be."""
        numbers = numbers_of_arms(self)
        return {"mean_queries": float(np.mean(numbers)), "max_queries": numbers[-1]}

    def task_difficulty(self) -> Difficulty:
        return gap_difficulty()

    def contradicts(self, history: History) -> bool:
        """Whether an arm paid two rewards, or one outside [0, 1]."""
        number = int(history.length)
        rewards: dict[int, float] = {}
        answers = zip(
            history.queries[:number].tolist(),
            history.outcomes[1 : number + 1, 0].tolist(),
            strict=True,
        )
        return any(
            rewards.setdefault(arm, reward) != reward or not 0 <= reward <= 1
            for arm, reward in answers
        )

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"]:
        return jnp.zeros(self.num_arms, first_outcome.dtype)


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
            existing_arms(self.family, first_outcome),
        )

    def update(
        self, state: RevealedMeans, query: Index, outcome: Float[Array, "outcome"]
    ) -> RevealedMeans:
        pulled = jnp.arange(self.family.num_arms) == query
        return RevealedMeans(
            state.tried | pulled,
            jnp.where(pulled, outcome[0], state.values),
            state.exists,
        )

    def log_posterior(self, state: RevealedMeans) -> Float[Array, "hypotheses"]:
        return revealed_best_log_posterior(state.tried, state.values, state.exists)
