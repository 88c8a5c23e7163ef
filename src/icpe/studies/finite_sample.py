"""How the value gap of fitted Q-iteration falls with the size of its batches."""

import dataclasses
from typing import Any

import numpy as np

from icpe.evaluate.plots import Figure
from icpe.studies.figures import LOOKS, Look, Panel, Series, named, panels_figure
from icpe.studies.fitted_q import HistoryTree, fit_q
from icpe.studies.models import Bench
from icpe.studies.study import AbstractMeasure, Cell, Results, Size, Study, entry
from icpe.studies.tables import Estimate, Table, shown

BATCH_SIZES = tuple(2**i for i in range(6, 19, 2))
PRIOR = (0.4, 0.3, 0.2, 0.1)
SUCCESS = (
    (0.9, 0.3, 0.5),
    (0.2, 0.8, 0.6),
    (0.4, 0.6, 0.1),
    (0.7, 0.1, 0.9),
)
"""Probability that a query succeeds under a hypothesis."""


@dataclasses.dataclass(frozen=True)
class FittedQ(AbstractMeasure):
    """The value gap of fitted Q-iteration at one batch size.

    Attributes:
        prior: probability of each hypothesis.
        success: probability of success of each query under each hypothesis.
        budget: number of queries.
        batch_size: samples in an epoch.
        repeats: independent trainings.
    """

    prior: tuple[float, ...]
    success: tuple[tuple[float, ...], ...]
    budget: int
    batch_size: int
    repeats: int

    def tree(self) -> HistoryTree:
        """The model with all its histories."""
        table = np.asarray(self.success)
        likelihood = np.stack([1.0 - table, table], axis=-1)
        return HistoryTree(np.asarray(self.prior), likelihood, self.budget)

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Trains again and again and takes the mean."""
        tree = self.tree()
        best = tree.optimal_value()
        rng = np.random.default_rng([seed, self.batch_size])
        epochs = self.budget + 1
        gaps = np.array(
            [
                best - tree.value_of(fit_q(tree, self.batch_size, epochs, rng))
                for _ in range(self.repeats)
            ]
        )
        mean, error = float(gaps.mean()), float(gaps.std() / np.sqrt(len(gaps)))
        return {
            "optimal_accuracy": best,
            "gap": mean,
            "gap_interval": (max(mean - 1.96 * error, 0.0), mean + 1.96 * error),
            "repeats": self.repeats,
            "epochs": epochs,
        }


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    budget, repeats = (2, 4) if tiny else (4, 200)
    cells = tuple(
        Cell(f"B={batch}", "fitted-q", FittedQ(PRIOR, SUCCESS, budget, batch, repeats))
        for batch in ((64, 256) if tiny else BATCH_SIZES)
    )
    return Study(
        "finite-sample",
        "Finite samples",
        "Fitted Q-iteration, as in the paper's finite-sample analysis, on a model of "
        "four hypotheses, three binary queries and a budget of four, whose optimum is "
        "exact. The theorem bounds the gap by a term of order 1 / sqrt(B) (with one "
        "feature for each history there is no approximation error); its constant is "
        "not drawn, only the slope. Smaller batches than there are histories, 1,555, "
        "do not show it. Paper: theorem without experiment.",
        cells,
        _tables,
        _figures,
    )


def _gap(results: Results, row: str) -> Estimate | None:
    found = results.first(row, "fitted-q")
    if found is None:
        return None
    return Estimate(found["gap"], tuple(found["gap_interval"]))


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        found = results.first(row, "fitted-q")
        rows.append(
            (
                row,
                shown(_gap(results, row), 5),
                shown(entry(found, "optimal_accuracy"), 5),
                shown(entry(found, "repeats"), 0),
            )
        )
    headings = ("batch", "value gap", "optimal accuracy", "trainings")
    caption = "Accuracy lost against the optimum, by the size of a batch"
    return [Table("finite-sample", caption, headings, tuple(rows))]


def _figures(results: Results) -> dict[str, Figure]:
    known = [
        (float(row.removeprefix("B=")), gap)
        for row in results.rows
        if (gap := _gap(results, row)) is not None and gap.value > 0
    ]
    if not known:
        return {}
    sizes = [size for size, _ in known]
    start = max(range(len(known)), key=lambda i: known[i][1].value)
    top = known[start][1].value
    rate = [top * (sizes[start] / size) ** 0.5 for size in sizes[start:]]
    ours = Look("fitted Q", LOOKS["ours"].color, width=2.4)
    intervals = [gap.interval or (gap.value, gap.value) for _, gap in known]
    series = [
        Series(
            ours,
            sizes,
            [gap.value for _, gap in known],
            [max(low, 1e-6) for low, _ in intervals],
            [high for _, high in intervals],
        ),
        Series(
            Look("slope of 1 / sqrt(B)", "#000000", "none", "--"), sizes[start:], rate
        ),
    ]
    panel = Panel(
        series,
        "samples in a batch B",
        "accuracy lost against the optimum",
        "Fitted Q-iteration, exact values",
        log_x=True,
        log_y=True,
    )
    return named(panels_figure([panel], width=6.0), "finite-sample")
