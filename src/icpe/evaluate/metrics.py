"""Counts that summarize any number of episodes, and the figures made from them."""

import dataclasses

import jax
import numpy as np
from jaxtyping import Float, Int

from icpe.core.episode import StopReason
from icpe.core.errors import UnsupportedError
from icpe.play.rollout import Ending
from icpe.theory.intervals import bounded_mean_interval, clopper_pearson

CONFIDENCE = 0.95
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclasses.dataclass(frozen=True)
class Tally:
    """Sufficient counts of a set of episodes; tallies of disjoint sets add up.

    Attributes:
        num_correct: episodes whose recommendation was the truth.
        query_counts: `query_counts[t]` episodes made exactly t queries.
        stop_counts: episodes by `StopReason`.
        total_cost: sum of all costs.
        decided: right answers and episodes among those that ended with the belief that
            was asked for; None where none was.
    """

    num_correct: int
    query_counts: Int[np.ndarray, "counts"]
    stop_counts: Int[np.ndarray, "reasons"]
    total_cost: float
    decided: tuple[int, int] | None = None

    @staticmethod
    def of(ending: Ending, most: int) -> "Tally":
        """Counts a batch of endings that make at most so many queries.

        Raises:
            UnsupportedError: an episode has not ended, so it has no answer to count.
        """
        ending = jax.tree.map(np.asarray, ending)
        if np.any(ending.stop_reason == StopReason.RUNNING):
            raise UnsupportedError(
                "Some episodes never ended within the family's horizon, so there is no "
                "answer to count; the explorer was asked for more queries than that."
            )
        return Tally(
            num_correct=int(np.sum(ending.recommendation == ending.hypothesis)),
            query_counts=np.bincount(ending.num_queries, minlength=most + 1),
            stop_counts=np.bincount(ending.stop_reason, minlength=len(StopReason)),
            total_cost=float(np.sum(ending.cost, dtype=np.float64)),
        )

    def __add__(self, other: "Tally") -> "Tally":
        decided = None
        if self.decided is not None and other.decided is not None:
            right, number = (sum(it) for it in zip(self.decided, other.decided))  # noqa: B905
            decided = (right, number)
        return Tally(
            self.num_correct + other.num_correct,
            self.query_counts + other.query_counts,
            self.stop_counts + other.stop_counts,
            self.total_cost + other.total_cost,
            decided,
        )

    @property
    def undecided(self) -> float | None:
        """Fraction of episodes without the belief that was asked for."""
        return None if self.decided is None else 1 - self.decided[1] / self.episodes

    @property
    def decided_accuracy(self) -> float | None:
        """Fraction of right answers among the decided episodes, if there are any."""
        if self.decided is None or not self.decided[1]:
            return None
        return self.decided[0] / self.decided[1]

    @property
    def decided_accuracy_interval(self) -> tuple[float, float] | None:
        """95 % interval of it (Clopper and Pearson)."""
        if self.decided_accuracy is None or self.decided is None:
            return None
        right, number = self.decided
        ends = clopper_pearson([right], [number], CONFIDENCE)
        return float(ends.low[0]), float(ends.high[0])

    @property
    def episodes(self) -> int:
        """Number of episodes counted."""
        return int(self.query_counts.sum())

    @property
    def accuracy(self) -> float:
        """Fraction of right answers."""
        return self.num_correct / self.episodes

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """95 % interval of it (Clopper and Pearson)."""
        ends = clopper_pearson([self.num_correct], [self.episodes], CONFIDENCE)
        return float(ends.low[0]), float(ends.high[0])

    @property
    def mean_queries(self) -> float:
        """Mean number of queries."""
        return float(self._steps @ self.query_counts / self.episodes)

    @property
    def mean_queries_interval(self) -> tuple[float, float]:
        """95 % interval of it, by empirical likelihood within the possible 0 .. most.

        Where every episode used a budget up, the mean is that budget.
        """
        if self.stop_counts[StopReason.BUDGET] == self.episodes:
            return self.mean_queries, self.mean_queries
        ends = bounded_mean_interval(
            self._steps,
            CONFIDENCE,
            counts=self.query_counts,
            low=0,
            high=len(self._steps) - 1,
        )
        return float(ends.low), float(ends.high)

    @property
    def max_queries(self) -> int:
        """Largest number of queries in an episode."""
        return int(np.flatnonzero(self.query_counts)[-1])

    @property
    def survival(self) -> Float[np.ndarray, "steps"]:
        """P(tau > t) for t = 0 .. max_queries; the last entry is 0."""
        counts = self.query_counts[: self.max_queries + 1]
        return (self.episodes - np.cumsum(counts)) / self.episodes

    def quantile(self, probability: float) -> int:
        """The smallest t with P(tau <= t) >= probability."""
        reached = np.cumsum(self.query_counts) >= probability * self.episodes
        return int(np.argmax(reached))

    @property
    def stop_reasons(self) -> dict[str, int]:
        """Episodes by the lower-case name of the reason they ended, if any did."""
        return {
            reason.name.lower(): int(self.stop_counts[reason])
            for reason in StopReason
            if self.stop_counts[reason]
        }

    @property
    def _steps(self) -> Int[np.ndarray, "counts"]:
        return np.arange(len(self.query_counts))
