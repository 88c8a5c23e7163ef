"""Episodes split into groups: by the truth, and by how hard the task was."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.artifact.certificate import Group
from icpe.core.arrays import PRNGKey, Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.families.bandits import DeterministicBandit, GaussianBandit
from icpe.families.bernoulli_bandit import BernoulliBandit
from icpe.families.feedback_graph.law import FeedbackGraph
from icpe.families.shifted_gaussian_bandit import ShiftedGaussianBandit
from icpe.play.rollout import Ending, episode_tasks

_NUM_BINS = 4


@dataclasses.dataclass(frozen=True)
class Difficulty:
    """How hard each of some episodes was, and what the number means."""

    name: str
    values: Float[np.ndarray, "episodes"]


def difficulty(
    family: AbstractTaskFamily, ending: Ending, *, key: PRNGKey
) -> Difficulty:
    """A measure of difficulty of the episodes that `run_episodes` played with a key.

    For bandits, the gap between the two largest means; else the number of queries.
    """
    measure = _MEASURES.get(type(family))
    if measure is None:
        return Difficulty("number of queries", np.asarray(ending.num_queries, float))
    name, function = measure
    tasks = episode_tasks(family, ending.num_queries.shape[0], key=key)
    return Difficulty(name, np.asarray(jax.vmap(function)(tasks), float))


def by_hypothesis(family: AbstractTaskFamily, ending: Ending) -> tuple[Group, ...]:
    """One group for each hypothesis that was true at least once."""
    truths = np.asarray(ending.hypothesis)
    return tuple(
        _group(family.spec.hypothesis_name(int(truth)), truths == truth, ending)
        for truth in np.unique(truths)
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


def _gap(means: Float[Array, "arms"]) -> Scalar:
    second, first = jnp.sort(means)[-2:]
    return first - second


_GAP = ("gap between the two largest means", _gap)
_MEASURES: dict[type[AbstractTaskFamily], tuple[str, Callable[[Any], Scalar]]] = {
    BernoulliBandit: _GAP,
    DeterministicBandit: _GAP,
    FeedbackGraph: _GAP,
    GaussianBandit: _GAP,
    ShiftedGaussianBandit: _GAP,
}
