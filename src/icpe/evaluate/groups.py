"""Episodes split into groups: by the truth, and by how hard the task was."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from icpe.artifact.certificate import Group
from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.play.rollout import Ending, episode_tasks

_NUM_BINS = 4


class Hardness(NamedTuple):
    """How hard each of some episodes was, and what the number means."""

    name: str
    values: Float[np.ndarray, "episodes"]


def hardness(family: AbstractTaskFamily, ending: Ending, *, key: PRNGKey) -> Hardness:
    """How hard the episodes were that `run_episodes` played with a key.

    By the family's own measure, else by the number of queries.
    """
    difficulty = family.task_difficulty()
    if difficulty is None:
        return Hardness("number of queries", np.asarray(ending.num_queries, float))
    tasks = episode_tasks(family, ending.num_queries.shape[0], key=key)
    values = np.asarray(jax.vmap(difficulty.measure)(tasks), float)
    return Hardness(difficulty.name, values)


def by_hypothesis(family: AbstractTaskFamily, ending: Ending) -> tuple[Group, ...]:
    """One group for each hypothesis that was true at least once."""
    truths = np.asarray(ending.hypothesis)
    return tuple(
        _group(family.spec.hypothesis_name(int(truth)), truths == truth, ending)
        for truth in np.unique(truths)
    )


def by_answer(
    family: AbstractTaskFamily, ending: Ending, decided: Bool[np.ndarray, "episodes"]
) -> tuple[Group, ...]:
    """One group for each answer that was given: how many of these are right?"""
    answers = np.asarray(ending.recommendation)
    return tuple(
        _group(
            family.spec.hypothesis_name(int(answer)),
            (answers == answer) & decided,
            ending,
        )
        for answer in np.unique(answers[decided])
    )


def by_difficulty(values: Float[np.ndarray, "episodes"], ending: Ending):
    """Up to four groups of similar size, in the order of the values.

    The name of a group is the range of its values. Where only a few values occur
    each has a group of its own.
    """
    bins = _bins(values)
    groups = []
    for index in np.unique(bins):
        inside = bins == index
        low, high = values[inside].min(), values[inside].max()
        name = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        groups.append(_group(name, inside, ending))
    return tuple(groups)


def _bins(values: Float[np.ndarray, "episodes"]) -> Int[np.ndarray, "episodes"]:
    distinct, inverse = np.unique(values, return_inverse=True)
    if len(distinct) <= _NUM_BINS:
        return inverse
    cuts = np.quantile(values, np.arange(1, _NUM_BINS) / _NUM_BINS)
    return np.searchsorted(cuts, values)


def _group(name: str, inside: Bool[np.ndarray, "episodes"], ending: Ending) -> Group:
    return Group(
        name=name,
        episodes=int(inside.sum()),
        successes=int(np.asarray(ending.correct)[inside].sum()),
        mean_queries=float(np.asarray(ending.num_queries)[inside].mean()),
    )
