"""Accuracy against the number of regions looked at, distinct ones counted once."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.play.rollout import rollout_chunks
from icpe.studies.statistics.adaptivity import Selections
from icpe.theory.intervals import clopper_pearson


@dataclasses.dataclass(frozen=True)
class RegionScore:
    """How often an explorer is right, and how many regions it looks at.

    Attributes:
        accuracy: share of right answers, with its exact 95 % interval.
        accuracy_interval: the interval of Clopper and Pearson.
        mean_regions: mean number of distinct queries of an episode.
        mean_regions_error: its standard error.
        mean_queries: mean number of queries, repeated ones counted again.
        episodes: number of episodes.
        selections: what was asked under each truth.
    """

    accuracy: float
    accuracy_interval: tuple[float, float]
    mean_regions: float
    mean_regions_error: float
    mean_queries: float
    episodes: int
    selections: Selections

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        fields = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }
        return {**fields, "selections": self.selections.to_dict()}


def score_regions(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
    *,
    episodes: int = 10_000,
    seed: int = 0,
    chunk_size: int | None = None,
) -> RegionScore:
    """Plays fresh episodes; those of one seed are the same for all explorers."""
    chunks = rollout_chunks(
        explorer,
        family,
        operating_point,
        episodes,
        key=jr.key(seed),
        chunk_size=chunk_size,
    )
    asked, truths, correct = zip(
        *((c.history.queries, c.ending.hypothesis, c.ending.correct) for c in chunks),
        strict=True,
    )
    arrays = map(np.concatenate, (asked, truths, correct))
    return _score(family.spec, *arrays)


def score_along(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    budget: int,
    *,
    episodes: int = 10_000,
    seed: int = 0,
    chunk_size: int | None = None,
) -> list[RegionScore]:
    """Scores after 1, 2, .. `budget` queries of the same episodes.

    For explorers that do not plan with the budget: what they would answer after fewer
    queries is what they would answer with a smaller budget.
    """
    spec = family.spec
    point = OperatingPoint.at(spec.horizon, budget=budget)
    asked, truths, answers = [], [], []
    for chunk in rollout_chunks(
        explorer, family, point, episodes, key=jr.key(seed), chunk_size=chunk_size
    ):
        asked.append(np.asarray(chunk.history.queries)[:, :budget])
        truths.append(np.asarray(chunk.ending.hypothesis))
        along = _answers_along(explorer, spec, point, chunk.history)
        answers.append(np.asarray(along)[:, :budget])
    queries, truth = np.concatenate(asked), np.concatenate(truths)
    correct = np.concatenate(answers) == truth[:, None]
    return [
        _score(spec, queries[:, :number], truth, correct[:, number - 1])
        for number in range(1, budget + 1)
    ]


@eqx.filter_jit
def _answers_along(
    explorer: AbstractExplorer, spec: TaskSpec, point: OperatingPoint, history: History
) -> Int[Array, "episodes steps"]:
    """What the explorer would answer after each query of each episode."""

    def one(queries, outcomes):
        def hear(state, heard):
            state = explorer.tell(state, *heard)
            return state, explorer.recommend(state)

        state = explorer.init(spec, point, outcomes[0])
        return lax.scan(hear, state, (queries, outcomes[1:]))[1]

    return jax.vmap(one)(history.queries, history.outcomes)


def num_distinct(
    queries: Int[np.ndarray, "episodes steps"], num_queries: int
) -> Int[np.ndarray, "episodes"]:
    """Distinct queries of each episode; negative ones were not made."""
    return (queries[:, :, None] == np.arange(num_queries)).any(axis=1).sum(axis=1)


def _score(
    spec: TaskSpec,
    queries: Int[np.ndarray, "episodes steps"],
    truths: Int[np.ndarray, "episodes"],
    correct: Bool[np.ndarray, "episodes"],
) -> RegionScore:
    number = len(correct)
    regions = num_distinct(queries, spec.num_queries)
    low, high = clopper_pearson(int(correct.sum()), number)
    return RegionScore(
        accuracy=float(correct.mean()),
        accuracy_interval=(float(low), float(high)),
        mean_regions=float(regions.mean()),
        mean_regions_error=float(regions.std() / np.sqrt(number)),
        mean_queries=float((queries >= 0).sum(axis=1).mean()),
        episodes=number,
        selections=Selections.of(
            queries, truths, spec.num_queries, spec.num_hypotheses
        ),
    )
