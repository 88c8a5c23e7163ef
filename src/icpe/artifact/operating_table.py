"""What a trained explorer can do: accuracy and queries at measured operating points."""

import dataclasses
import math
from typing import Any

from icpe.core.errors import OperatingPointError
from icpe.portable import out_of_reach


@dataclasses.dataclass(frozen=True)
class OperatingRow:
    """One measured operating point.

    A row with a price may have a cap `max_queries` below the horizon; a row of a
    fixed budget has `price` None and the budget as `max_queries`. `lower_bound` is a
    one-sided 95 % Clopper-Pearson bound of the accuracy. Quantiles are of the number
    of queries at 0.5, 0.9 and 0.99.
    """

    price: float | None
    max_queries: int
    episodes: int
    accuracy: float
    lower_bound: float
    mean_queries: float
    quantiles: tuple[int, int, int]
    longest: int
    mean_cost: float


@dataclasses.dataclass(frozen=True)
class OperatingTable:
    """Rows measured on one set of episodes, which no later judgment uses."""

    horizon: int
    seed: int
    rows: tuple[OperatingRow, ...]

    def priced(self, max_queries: int | None = None) -> tuple[OperatingRow, ...]:
        """The rows with a price at a cap (the horizon if None), cheapest first."""
        cap = self.horizon if max_queries is None else max_queries
        rows = (r for r in self.rows if r.price is not None and r.max_queries == cap)
        return tuple(sorted(rows, key=lambda row: row.price or 0.0))

    def budgets(self) -> tuple[OperatingRow, ...]:
        """The rows of fixed budgets, smallest first."""
        rows = (row for row in self.rows if row.price is None)
        return tuple(sorted(rows, key=lambda row: row.max_queries))

    def row_for(
        self,
        error_prob: float,
        max_queries: int | None = None,
        *,
        trained: bool = True,
        most_queries: int | None = None,
    ) -> OperatingRow:
        """The cheapest row whose accuracy is at least 1 - error_prob.

        Only rows whose lower bound meets 1 - error_prob count; the smallest mean
        cost wins, ties go to the smaller price.

        Args:
            error_prob: the error probability allowed.
            max_queries: the cap; the horizon if None.
            trained: whether the explorer was trained, for the words of a refusal.
            most_queries: how many there are if each can be made once, for the same.

        Raises:
            OperatingPointError: no row is accurate enough, or none has that cap.
        """
        rows = self._rows_at(max_queries)
        served = [row for row in rows if row.lower_bound + error_prob >= 1.0]
        if not served:
            smallest = self.smallest_error_prob(max_queries)
            records = [dataclasses.asdict(row) for row in rows]
            raise OperatingPointError(
                out_of_reach(
                    error_prob,
                    smallest,
                    records,
                    trained=trained,
                    most_queries=most_queries,
                )
            )
        return min(served, key=lambda row: (row.mean_cost, row.price))

    def row_worth_most(
        self, price: float, max_queries: int | None = None
    ) -> OperatingRow:
        """The row of largest accuracy - price * cost, as measured.

        Raises:
            OperatingPointError: none has that cap.
        """
        rows = self._rows_at(max_queries)
        return max(rows, key=lambda row: row.accuracy - price * row.mean_cost)

    def _rows_at(self, max_queries: int | None) -> tuple[OperatingRow, ...]:
        rows = self.priced(max_queries)
        if not rows:
            caps = sorted({r.max_queries for r in self.rows if r.price is not None})
            raise OperatingPointError(
                f"max_queries={max_queries} has no rows in the operating table, which "
                f"has {', '.join(map(str, caps))}; use one of these, or add it with "
                f"icpe calibrate FILE --max-queries {max_queries}."
            )
        return rows

    def smallest_error_prob(self, max_queries: int | None = None) -> float:
        """The smallest error probability that `row_for` serves, to four digits."""
        best = max(row.lower_bound for row in self.priced(max_queries))
        steps = math.floor((1.0 - best) * 10_000)
        while best + steps / 10_000 < 1.0:
            steps += 1
        return steps / 10_000

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "OperatingTable":
        """From the values of `to_dict`."""
        rows = tuple(
            OperatingRow(**{**row, "quantiles": tuple(row["quantiles"])})
            for row in values["rows"]
        )
        return OperatingTable(values["horizon"], values["seed"], rows)
