"""Best-arm identification: Gaussian rewards with a minimum gap, and no noise at all."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least, check_between, check_positive
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    TaskSpec,
    parameter,
    plain_reset,
    plain_step,
    reveal,
)

Means = Float[Array, "arms"]

UNUSED = -1.0
"""The mean of an arm that a task does not have."""


class GaussianBandit(AbstractTaskFamily):
    """Arms with Gaussian rewards of known noise; which has the largest mean?

    The means are uniform on [0, max_mean] given that the best leads the second by
    at least `min_gap`. K uniforms on [0, max_mean - min_gap], with the gap then added
    to the largest, have exactly this conditional law (top spacing of uniforms).

    With `vary_arms` each task has its own number of arms, drawn uniformly; the first
    outcome reveals it beside the reward and the mask forbids the other arms, whose
    means are -1. One explorer then serves all numbers of arms.
    """

    num_arms: int = parameter(10, "number of arms K")
    min_gap: float = parameter(0.4, "smallest lead of the best arm over the second")
    noise: float = parameter(0.5, "standard deviation of a reward")
    max_mean: float = parameter(0.0, "largest possible mean; 0 means 0.4 * num_arms")
    horizon: int = parameter(100, "most queries in an episode")
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
        check_at_least("num_arms", self.num_arms, 2)
        check_positive("noise", self.noise)
        check_at_least("max_mean", self.max_mean, 0.0)
        check_at_least("min_gap", self.min_gap, 0.0)
        check_at_least("horizon", self.horizon, 1)
        _check_numbers(self)
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

    @property
    def spec(self) -> TaskSpec:
        """A query pulls an arm; the hypotheses are the arms."""
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
        )
        return _for_any_number(spec) if self.vary_arms else spec

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
        number = _draw_number(self, key=number_key)
        mean_range = self.max_mean or 0.4 * number.astype(jnp.float32)
        means = jr.uniform(means_key, (self.num_arms,)) * (mean_range - self.min_gap)
        means = _keep(means, number)
        return means.at[jnp.argmax(means)].add(self.min_gap)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the number of arms if it varies."""
        return _reset(task) if self.vary_arms else plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        """Draws a reward of the pulled arm."""
        reward = (task[query] + self.noise * jr.normal(key))[None]
        return _step(reward, task) if self.vary_arms else plain_step(self.spec, reward)

    def hypothesis(self, task: Means) -> Index:
        """The best arm."""
        return jnp.argmax(task)


class DeterministicBandit(AbstractTaskFamily):
    """Arms whose means are uniform on [0, 1] and are revealed by one pull.

    With `vary_arms` each task has its own number of arms, as in `GaussianBandit`.
    """

    num_arms: int = parameter(10, "number of arms K")
    horizon: int = parameter(0, "most queries in an episode; 0 means num_arms")
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
        check_at_least("num_arms", self.num_arms, 2)
        check_at_least("horizon", self.horizon, 0)
        _check_numbers(self)

    @property
    def spec(self) -> TaskSpec:
        """A query pulls an arm; the hypotheses are the arms."""
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
        )
        return _for_any_number(spec) if self.vary_arms else spec

    def sample_task(self, *, key: PRNGKey) -> Means:
        """Draws the means."""
        if not self.vary_arms:
            return jr.uniform(key, (self.num_arms,))
        number_key, means_key = jr.split(key)
        number = _draw_number(self, key=number_key)
        return _keep(jr.uniform(means_key, (self.num_arms,)), number)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the number of arms if it varies."""
        return _reset(task) if self.vary_arms else plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        """Reveals the mean of the pulled arm."""
        reward = task[query][None]
        return _step(reward, task) if self.vary_arms else plain_step(self.spec, reward)

    def hypothesis(self, task: Means) -> Index:
        """The best arm."""
        return jnp.argmax(task)


def numbers_of_arms(family: GaussianBandit | DeterministicBandit) -> range:
    """The numbers of arms that tasks of a bandit may have, equally probable."""
    if not family.vary_arms:
        return range(family.num_arms, family.num_arms + 1)
    return range(family.fewest_arms, (family.most_arms or family.num_arms) + 1)


def _check_numbers(family: GaussianBandit | DeterministicBandit) -> None:
    if family.vary_arms:
        most = family.most_arms or family.num_arms
        check_between("most_arms", most, 2, family.num_arms)
        check_between("fewest_arms", family.fewest_arms, 2, most)


def _for_any_number(spec: TaskSpec) -> TaskSpec:
    revealing = reveal(spec, "number of arms", scale=float(spec.num_queries))
    return dataclasses.replace(revealing, masks_queries=True)


def _draw_number(
    family: GaussianBandit | DeterministicBandit, *, key: PRNGKey
) -> Index:
    numbers = numbers_of_arms(family)
    return jr.randint(key, (), numbers.start, numbers.stop)


def _keep(means: Means, number: Index) -> Means:
    """The means of so many arms; the task does not have the others."""
    return jnp.where(jnp.arange(means.shape[0]) < number, means, UNUSED)


def _reset(task: Means) -> StepResult:
    """Reveals the number of arms."""
    number = jnp.sum(task != UNUSED, dtype=jnp.float32)
    return _result(jnp.stack([jnp.zeros(()), number]), task)


def _step(reward: Float[Array, "1"], task: Means) -> StepResult:
    """The reward, and 0 beside it."""
    return _result(jnp.append(reward, 0.0), task)


def _result(outcome: Float[Array, "2"], task: Means) -> StepResult:
    """Only the arms that there are may be pulled."""
    return StepResult(None, outcome, task != UNUSED, jnp.asarray(False))


def arm_names(num_arms: int) -> tuple[str, ...]:
    """Names of arms for people."""
    return tuple(f"arm {i}" for i in range(num_arms))
