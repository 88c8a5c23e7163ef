"""How far a belief can be trusted at the times when it makes an explorer stop.

A policy that stops at the first time its belief crosses a threshold selects moments of
overconfidence. So the belief is recalibrated at those very times: for each doubt (one
minus the largest posterior) the table has the share of right answers among the sessions
that stopped there.
"""

import dataclasses
from typing import Any

from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.core.errors import OperatingPointError


@dataclasses.dataclass(frozen=True)
class BeliefRow:
    """One doubt at which sessions stop.

    Attributes:
        doubt: one minus the largest posterior, as the explorer believes.
        episodes: sessions that were played.
        decided: those whose doubt fell so far; the others are undecided.
        successes: right answers among the decided.
        mean_queries: of all sessions.
        mean_cost: of all sessions.
    """

    doubt: float
    episodes: int
    decided: int
    successes: int
    mean_queries: float
    mean_cost: float

    @property
    def undecided(self) -> float:
        """The share of sessions that end without such a belief."""
        return 1.0 - self.decided / self.episodes


@dataclasses.dataclass(frozen=True)
class BeliefTable:
    """Rows measured on one set of episodes, which no later judgment uses.

    Attributes:
        horizon: of the family.
        seed: of the episodes.
        price: at which the explorer chooses its queries; of a rule, None.
        rows: doubts, smallest first.
    """

    horizon: int
    seed: int
    price: float | None
    rows: tuple[BeliefRow, ...]

    def decided(self) -> tuple[OperatingRow, ...]:
        """The rows as those of an operating table, with the decided sessions alone.

        The price of each is its doubt. Those without a decided session are left out.
        """
        return tuple(self._row(row) for row in self.rows if row.decided)

    def row_for(self, error_prob: float) -> BeliefRow:
        """The cheapest doubt whose right answers show a belief of 1 - error_prob.

        Raises:
            OperatingPointError: no doubt is small enough.
        """
        table = OperatingTable(self.horizon, self.seed, self.decided())
        try:
            found = table.row_for(error_prob)
        except OperatingPointError as error:
            raise OperatingPointError(
                f"No recalibrated belief of this explorer reaches {1 - error_prob:g}; "
                "ask for a larger error_prob, or for the average."
            ) from error
        return next(row for row in self.rows if row.doubt == found.price)

    def _row(self, row: BeliefRow) -> OperatingRow:
        from icpe.theory.intervals import clopper_pearson_lower

        bound = clopper_pearson_lower(row.successes, row.decided)
        return OperatingRow(
            price=row.doubt,
            max_queries=self.horizon,
            episodes=row.decided,
            accuracy=row.successes / row.decided,
            lower_bound=float(bound),
            mean_queries=row.mean_queries,
            quantiles=(0, 0, 0),
            longest=0,
            mean_cost=row.mean_cost,
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "BeliefTable":
        """From the values of `to_dict`."""
        return BeliefTable(
            values["horizon"],
            values["seed"],
            values["price"],
            tuple(BeliefRow(**row) for row in values["rows"]),
        )
