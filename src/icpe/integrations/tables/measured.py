"""What the explorer of a table does at each threshold, and its file.

All is measured on rows that were left out one at a time, never on cases that were drawn
from the rows.
"""

import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.artifact.saved_rule import SMALLEST_DOUBT, SavedRule
from icpe.evaluate.calibrate import NUM_PRICES
from icpe.evaluate.rule_table import rule_row
from icpe.evaluate.thresholds import ThresholdEpisodes
from icpe.integrations.tables.fit import FittedTable

RULE = "information-gain"


def operating_table(fitted: FittedTable, caps: tuple[int, ...] = ()) -> OperatingTable:
    """Accuracy and queries at many thresholds and budgets, by rows left out.

    Args:
        fitted: the table.
        caps: largest numbers of queries that get rows of their own.
    """
    spec = fitted.family.spec
    plays, labels = fitted.plays, fitted.labels
    costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
    paid = np.cumsum(costs[plays.queries], axis=1)
    episodes = ThresholdEpisodes(
        sure=plays.sure,
        right=plays.log_posterior.argmax(axis=2) == labels[:, None],
        paid=np.concatenate([np.zeros((len(paid), 1)), paid], axis=1),
        length=np.full(len(labels), plays.queries.shape[1]),
    )
    largest = 1.0 - 1.0 / spec.num_hypotheses
    doubts = np.geomspace(SMALLEST_DOUBT, largest, NUM_PRICES)
    horizon = spec.horizon
    rows: list[OperatingRow] = [
        rule_row(episodes, float(doubt), cap)
        for cap in sorted({horizon, *caps})
        for doubt in doubts
    ]
    rows += [rule_row(episodes, None, budget) for budget in range(1, horizon + 1)]
    return OperatingTable(horizon, 0, tuple(rows))


def make_artifact(
    fitted: FittedTable,
    table: OperatingTable,
    *,
    seed: int,
    seconds: float,
    target: str | None = None,
) -> Artifact:
    """The file of a table's explorer; `target` is the column with the classes."""
    family = fitted.family
    return Artifact(
        nets=SavedRule.of(family, RULE),
        family=family,
        training={
            "learner": "table",
            "rows": int(np.sum(np.asarray(family.log_weight) > -1e8)),
            "compared_rows": fitted.rows_compared,
            "judged_rows": len(fitted.labels),
            "held_out_rows": len(family.held_out_labels),
            "width": fitted.smoothing.width,
            "floor": fitted.smoothing.floor,
            "seed": seed,
            "rows_by_class": dict(
                zip(family.classes, fitted.rows_by_class, strict=True)
            ),
            "first_question": family.query_names[_usual_first(fitted)],
            **({} if target is None else {"target": target}),
        },
        provenance=provenance(seconds=round(seconds, 3)),
        table=table,
    )


def _usual_first(fitted: FittedTable) -> int:
    """The query that comes first, with any row left out."""
    return int(np.bincount(fitted.plays.queries[:, 0]).argmax())
