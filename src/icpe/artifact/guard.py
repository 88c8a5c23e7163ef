"""Does what comes look like the family that the certificate is about?

A certificate holds for problems of the family it was made on. A session fed in other
units, or with answers to other questions, is none of these. The guard scores every
answer by how rare it is, given the belief and the earlier answers, and raises an alarm
if one is rarer than any in the family's own sessions, or if many together are more, or
less, surprising than they should be. Its limits are measured so that few sessions of
the family itself ever raise one (`icpe.evaluate.guard`).
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from icpe.artifact.outcome_law import AbstractOutcomeLaw, Seen, law_of
from icpe.core.spec import TaskSpec

_SETTLING = 4.0
"""Answers before a sum of surprises is taken for what it is."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What no more than few sessions of the family exceed.

    Attributes:
        one: the surprise of one answer.
        more: by how much the sum of surprises is above its mean, over the root of the
            number of answers.
        less: the same below it.
    """

    one: float
    more: float
    less: float


@dataclasses.dataclass(frozen=True)
class Guard:
    """The law of answers, limits, and how they were measured."""

    law: AbstractOutcomeLaw
    limits: Limits
    record: dict[str, Any]

    def start(self, spec: TaskSpec) -> "Watch":
        """Before the first answer."""
        zeros = np.zeros(spec.num_queries)
        return Watch(self, spec, zeros, np.zeros((len(zeros), spec.outcome_size)))

    def to_dict(self) -> dict[str, Any]:
        """All but the arrays of the law."""
        return {"limits": dataclasses.asdict(self.limits), "record": self.record}

    @staticmethod
    def of(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Guard":
        """From the values of `to_dict` and the arrays of the law."""
        return Guard(law_of(arrays), Limits(**values["limits"]), values["record"])

    def fitting(self, spec: TaskSpec) -> "Guard":
        """The same guard, if its law is about so many queries and hypotheses.

        Raises:
            ValueError: its arrays have other shapes.
        """
        for name, array in self.law.arrays().items():
            entries = array.shape[-1] if name != "probability" else spec.outcome_size
            sizes = (spec.num_queries, spec.num_hypotheses, spec.outcome_size)
            found = (*array.shape[:2], entries)
            if name == "symbols":
                sizes, found = sizes[2:], array.shape[1:]
            elif array.ndim == 3 and array.shape[1] == 1:
                found = (found[0], sizes[1], entries)  # one for all hypotheses
            if array.ndim != (2 if name == "symbols" else 3) or found != sizes:
                raise ValueError(f"array guard.{name} has shape {array.shape}")
        return self


@dataclasses.dataclass(frozen=True)
class Watch:
    """One session under guard: what was seen so far, and the first alarm."""

    guard: Guard
    spec: TaskSpec
    counts: Float[np.ndarray, "queries"]
    sums: Float[np.ndarray, "queries entries"]
    excess: float = 0.0
    alarm: str | None = None

    def after(
        self,
        belief: Float[np.ndarray, "hypotheses"],
        query: int,
        outcome: Float[np.ndarray, "entries"],
    ) -> "Watch":
        """With one more answer; an alarm once raised stays."""
        count = self.counts[query]
        seen = Seen(
            np.asarray(belief, float)[None],
            np.array([query]),
            np.asarray(outcome, float)[None],
            np.array([count]),
            (self.sums[query] / max(count, 1.0))[None],
        )
        surprise = self.guard.law.surprise(seen)
        excess = self.excess + float(surprise.found[0] - surprise.expected[0])
        counts, sums = self.counts.copy(), self.sums.copy()
        counts[query] += 1
        sums[query] += outcome
        alarm = self.alarm or self._alarm(seen, float(surprise.found[0]), excess)
        return Watch(self.guard, self.spec, counts, sums, excess, alarm)

    def _alarm(self, seen: Seen, one: float, excess: float) -> str | None:
        limits = self.guard.limits
        number = int(self.counts.sum()) + 1
        scaled = excess / np.sqrt(number + _SETTLING)
        if one > limits.one or scaled > limits.more:
            shown = ", ".join(f"{x:.4g}" for x in seen.outcome[0])
            asked = self.spec.query_name(int(seen.query[0]))
            sentence = (
                f"{shown} came for query {asked}, where this family expects "
                f"{self.guard.law.expects(seen, self.spec)}"
            )
            if one <= limits.one:
                sentence = f"{number} answers together are too rare; {sentence}"
            return f"{sentence}; are the units and the order of answers right?"
        if scaled < -limits.less:
            return (
                f"{number} answers together vary less than this family's do; is the "
                "noise smaller than the explorer was trained for?"
            )
        return None


@dataclasses.dataclass(frozen=True)
class Extremes:
    """The most of each kind that a batch of whole sessions came to."""

    one: Float[np.ndarray, "episodes"]
    more: Float[np.ndarray, "episodes"]
    less: Float[np.ndarray, "episodes"]

    def exceeds(self, limits: Limits) -> np.ndarray:
        """Which of them would have raised an alarm."""
        return (
            (self.one > limits.one)
            | (self.more > limits.more)
            | (self.less > limits.less)
        )


def extremes(law: AbstractOutcomeLaw, beliefs, queries, outcomes, length) -> Extremes:
    """What the guard sees in whole episodes, all at once.

    Args:
        law: of the answers.
        beliefs: before each query, episodes x steps x hypotheses.
        queries: episodes x steps.
        outcomes: of each query, episodes x steps x entries.
        length: queries made in each episode.
    """
    number, steps = queries.shape
    num_queries = int(queries.max(initial=0)) + 1
    counts = np.zeros((number, num_queries))
    sums = np.zeros((number, num_queries, outcomes.shape[2]))
    excess = np.zeros(number)
    most = np.full((3, number), -np.inf)
    for step in range(steps):
        rows = np.flatnonzero(length > step)
        if not len(rows):
            break
        query = queries[rows, step]
        count = counts[rows, query]
        mean = sums[rows, query] / np.maximum(count, 1.0)[:, None]
        outcome = outcomes[rows, step].astype(float)
        seen = Seen(beliefs[rows, step].astype(float), query, outcome, count, mean)
        surprise = law.surprise(seen)
        excess[rows] += surprise.found - surprise.expected
        scaled = excess[rows] / np.sqrt(step + 1 + _SETTLING)
        found = np.stack([surprise.found, scaled, -scaled])
        most[:, rows] = np.maximum(most[:, rows], found)
        counts[rows, query] += 1
        sums[rows, query] += outcome
    return Extremes(*most)
