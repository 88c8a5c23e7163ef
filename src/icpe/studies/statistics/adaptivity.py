"""Does an explorer look elsewhere when the truth is another? Chi-squared tests.

The paper's analysis of pixel sampling: for each pair of classes, do the regions that
were looked at have the same distribution?
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import chdtrc

from icpe.core.errors import InvalidParameterError

LEAST = 5
"""Fewest trajectories of a class, and fewest uses of a query by a pair of classes."""


@dataclasses.dataclass(frozen=True)
class Selections:
    """What was asked under each truth.

    `counts[h, a]` episodes with truth h made query a at least once; there were
    `trajectories[h]` of them.
    """

    counts: Int[np.ndarray, "hypotheses queries"]
    trajectories: Int[np.ndarray, "hypotheses"]

    @staticmethod
    def of(
        queries: Int[np.ndarray, "episodes steps"],
        hypotheses: Int[np.ndarray, "episodes"],
        num_queries: int,
        num_hypotheses: int,
    ) -> "Selections":
        """Counts the queries of some episodes; negative ones were not made."""
        used = (queries[:, :, None] == np.arange(num_queries)).any(axis=1)
        is_truth = hypotheses[:, None] == np.arange(num_hypotheses)
        return Selections(
            is_truth.T.astype(np.int64) @ used.astype(np.int64), is_truth.sum(axis=0)
        )

    def __add__(self, other: "Selections") -> "Selections":
        return Selections(
            self.counts + other.counts, self.trajectories + other.trajectories
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return {
            "counts": self.counts.tolist(),
            "trajectories": self.trajectories.tolist(),
        }

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Selections":
        """What `to_dict` gave."""
        return Selections(
            np.asarray(values["counts"], np.int64),
            np.asarray(values["trajectories"], np.int64),
        )


def pairwise_p_values(
    selections: Selections, *, least: int = LEAST
) -> Float[np.ndarray, "hypotheses hypotheses"]:
    """P-values of Pearson's chi-squared test of independence for pairs of classes.

    The table of a pair has a row for each class and a column for each query that was
    used by at least `least` episodes of the two; its entries are how many episodes
    used the query. NaN on the diagonal, for classes with fewer than `least`
    trajectories, and where fewer than two columns are left. One episode enters
    several columns, so the p-values are descriptive, as the paper's are.
    """
    counts, enough = selections.counts, selections.trajectories >= least
    number = len(counts)
    p_values = np.full((number, number), np.nan)
    for i in range(number):
        for j in range(i):
            if enough[i] and enough[j]:
                table = counts[[i, j]]
                table = table[:, table.sum(axis=0) >= least]
                p_values[i, j] = p_values[j, i] = chi_squared_p_value(table)
    return p_values


def chi_squared_p_value(table: Int[np.ndarray, "rows columns"]) -> float:
    """P-value of Pearson's chi-squared test, without correction for continuity.

    The statistic is the sum of (observed - expected)² / expected, compared with the
    chi-squared law of (rows - 1) (columns - 1) degrees of freedom. NaN for a table
    with fewer than two columns or an empty row.

    Raises:
        InvalidParameterError: an entry is negative or a column is empty.
    """
    if (table < 0).any() or (table.sum(axis=0) == 0).any():
        raise InvalidParameterError(
            "table must have counts of at least 0 and no empty column; drop the "
            "columns that nobody used."
        )
    rows, columns = table.shape
    by_row = table.sum(axis=1, keepdims=True)
    if columns < 2 or (by_row == 0).any():
        return float("nan")
    expected = by_row * table.sum(axis=0, keepdims=True) / table.sum()
    statistic = float(np.sum(np.square(table - expected) / expected))
    return float(chdtrc((rows - 1) * (columns - 1), statistic))
