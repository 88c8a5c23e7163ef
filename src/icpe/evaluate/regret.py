"""Cumulative regret: what was lost by not pulling the best arm all the time."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import PyTree
from icpe.core.checks import check_at_least, check_num_episodes
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.progress import AbstractProgress, NoProgress
from icpe.core.request import OperatingPoint
from icpe.evaluate.report import family_record
from icpe.families.registry import describe, family_name
from icpe.play.rollout import episode_tasks, rollout_chunks
from icpe.theory.intervals import mean_interval

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class RegretReport:
    """Regret of one explorer on fresh tasks.

    Attributes:
        explorer: its name.
        family: name and parameters of the family.
        horizon: number of pulls.
        episodes: number of episodes.
        seed: of the tasks, the noise and the explorer.
        regret: mean regret over all pulls.
        regret_interval: 95 % interval of it.
        best_arm_rate: fraction of all pulls that were of the best arm.
        curve: mean regret after each pull.
    """

    explorer: str
    family: dict[str, Any]
    horizon: int
    episodes: int
    seed: int
    regret: float
    regret_interval: tuple[float, float]
    best_arm_rate: float
    curve: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-compatible values."""
        record = dataclasses.asdict(self)
        record["regret_interval"] = list(self.regret_interval)
        record["curve"] = [float(f"{value:.6g}") for value in self.curve]
        return record


def cumulative_regret(
    explorers: Mapping[str, AbstractExplorer],
    family: AbstractTaskFamily,
    *,
    horizon: int = 500,
    episodes: int = 1_000,
    seed: int = 0,
    progress: AbstractProgress | None = None,
) -> list[RegretReport]:
    """Regret of each explorer over the same fresh tasks, one report each.

    Regret after n pulls is the sum of mu_best - mu_pulled, with the means of the task
    and not the noisy rewards. The family is played with this horizon, whatever its own.
    An explorer that stops is to be wrapped in explore-then-commit.

    Args:
        explorers: explorers by the name they get in the reports; each must serve a
            budget.
        family: a bandit whose tasks have means.
        horizon: number of pulls in an episode.
        episodes: number of episodes of each explorer.
        seed: seed of tasks, noise and the explorers' own randomness.
        progress: notified of every finished part.

    Raises:
        UnsupportedError: the tasks of the family have no means of rewards.
        OperatingPointError: an explorer cannot serve a budget.
    """
    check_num_episodes("episodes", episodes)
    check_at_least("horizon", horizon, 1)
    family = with_horizon(family, horizon)
    key = jr.key(seed)
    means = np.asarray(task_means(family, episode_tasks(family, episodes, key=key)))
    gaps = means.max(axis=1, keepdims=True) - means
    point = OperatingPoint.at(horizon, budget=horizon)
    progress = NoProgress() if progress is None else progress
    reports = []
    for name, explorer in explorers.items():
        progress.start(name, episodes)
        lost = []
        for chunk in rollout_chunks(explorer, family, point, episodes, key=key):
            first = sum(map(len, lost))
            queries = np.asarray(chunk.history.queries)
            rows = gaps[first : first + len(queries)]
            lost.append(np.take_along_axis(rows, queries, axis=1))
            progress.advance(len(queries))
        progress.finish()
        reports.append(_report(name, family, seed, np.concatenate(lost)))
    return reports


def with_horizon(family: AbstractTaskFamily, horizon: int) -> AbstractTaskFamily:
    """The same family with another horizon.

    Raises:
        UnsupportedError: its horizon cannot be set.
    """
    if "horizon" not in {field.name for field in dataclasses.fields(family)}:
        raise UnsupportedError(
            f"Family {family_name(family)!r} has no parameter horizon, which regret "
            "needs; choose a bandit."
        )
    return dataclasses.replace(family, horizon=horizon)


def task_means(family: AbstractTaskFamily, tasks: PyTree) -> Float[Array, "tasks arms"]:
    """The mean reward of each arm in each task.

    Raises:
        UnsupportedError: tasks of this family have none.
    """
    means = getattr(tasks, "means", tasks)
    shape = (family.spec.num_queries,)
    is_means = isinstance(means, jax.Array) and means.shape[1:] == shape
    if not is_means or not jnp.issubdtype(means.dtype, jnp.floating):
        raise UnsupportedError(
            f"Regret needs the mean reward of each arm, which tasks of "
            f"{describe(family)} do not have; choose a bandit."
        )
    return means


def _report(
    name: str,
    family: AbstractTaskFamily,
    seed: int,
    lost: Float[np.ndarray, "episodes steps"],
) -> RegretReport:
    totals = lost.sum(axis=1, dtype=np.float64)
    low, high = mean_interval(totals, CONFIDENCE)
    return RegretReport(
        explorer=name,
        family=family_record(family),
        horizon=lost.shape[1],
        episodes=lost.shape[0],
        seed=seed,
        regret=float(totals.mean()),
        regret_interval=(float(low), float(high)),
        best_arm_rate=float(np.mean(lost == 0)),
        curve=tuple(np.cumsum(lost.mean(axis=0, dtype=np.float64)).tolist()),
    )
