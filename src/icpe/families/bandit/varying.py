"""Bandits in which each task has its own number of arms, revealed at reset.

The first outcome holds the number beside the reward; arms that a task does not have
are masked and have the mean `UNUSED`. One explorer then serves all numbers of arms.
"""

import dataclasses
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_between
from icpe.core.family import StepResult
from icpe.core.spec import TaskSpec, reveal
from icpe.families.bandit.rewards import Means

UNUSED = -1.0
"""The mean of an arm that a task does not have."""


@runtime_checkable
class ArmNumbers(Protocol):
    """The parameters that say how many arms tasks have."""

    @property
    def num_arms(self) -> int:
        """The number of arms, or with `vary_arms` the number of queries."""
        ...

    @property
    def vary_arms(self) -> bool:
        """Whether each task has its own number."""
        ...

    @property
    def fewest_arms(self) -> int:
        """The smallest number."""
        ...

    @property
    def most_arms(self) -> int:
        """The largest number; 0 means `num_arms`."""
        ...


def numbers_of_arms(family: ArmNumbers) -> range:
    """The numbers of arms that tasks of a bandit may have, equally probable."""
    if not family.vary_arms:
        return range(family.num_arms, family.num_arms + 1)
    return range(family.fewest_arms, (family.most_arms or family.num_arms) + 1)


def check_numbers(family: ArmNumbers) -> None:
    """Raises one sentence unless the numbers of arms are possible."""
    if family.vary_arms:
        most = family.most_arms or family.num_arms
        check_between("most_arms", most, 2, family.num_arms)
        check_between("fewest_arms", family.fewest_arms, 2, most)


def for_any_number(spec: TaskSpec) -> TaskSpec:
    """The spec of a bandit that reveals its number of arms."""
    revealing = reveal(spec, "number of arms", scale=float(spec.num_queries))
    return dataclasses.replace(revealing, masks_queries=True)


def draw_number(family: ArmNumbers, *, key: PRNGKey) -> Index:
    """A number of arms, uniformly."""
    numbers = numbers_of_arms(family)
    return jr.randint(key, (), numbers.start, numbers.stop)


def keep_arms(means: Means, number: Index) -> Means:
    """The means of so many arms; the task does not have the others."""
    return jnp.where(jnp.arange(means.shape[0]) < number, means, UNUSED)


def reveal_number(task: Means) -> StepResult:
    """A reset that reveals the number of arms."""
    number = jnp.sum(task != UNUSED, dtype=jnp.float32)
    return _result(jnp.stack([jnp.zeros(()), number]), task)


def reward_beside_zero(reward: Float[Array, "1"], task: Means) -> StepResult:
    """A step: the reward, and 0 in the entry of the number."""
    return _result(jnp.append(reward, 0.0), task)


def existing_arms(
    family: ArmNumbers, first_outcome: Float[Array, "outcome"]
) -> Bool[Array, "arms"]:
    """The arms that there are: all, or as many as the first outcome reveals."""
    if not family.vary_arms:
        return jnp.ones(family.num_arms, bool)
    return jnp.arange(family.num_arms, dtype=first_outcome.dtype) < first_outcome[1]


def _result(outcome: Float[Array, "2"], task: Means) -> StepResult:
    return StepResult(None, outcome, task != UNUSED, jnp.asarray(False))
