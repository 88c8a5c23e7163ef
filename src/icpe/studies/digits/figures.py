"""How the methods of the study of digits are called, and how their curves are drawn."""

import dataclasses
from collections.abc import Mapping, Sequence

from icpe.evaluate.plots import Figure
from icpe.studies.figures import LOOKS, Look, Panel, Series, panels_figure
from icpe.studies.study import Record

NAMES = {
    "ours": "ours",
    "ours-greedy-entropy": "greedy entropy, our inference net",
    "ours-fixed-order": "best fixed order, our inference net",
    "ours-uniform": "uniform, our inference net",
    "paper": "paper's ICPE",
    "paper-frugal": "paper's ICPE, sparing",
    "fixed-order": "best fixed order, frozen classifier",
    "deep-cmab": "Deep CMAB",
    "uniform": "uniform, frozen classifier",
}
"""Those whose keys begin with "ours" answer by our inference net."""
_LINE_NAMES = {"ours-stopping": "ours, stopping by itself"} | NAMES
_STROKES = {
    "stopping": ("-", 2.8),
    "ours": ("-", 1.5),
    "paper": ("-", 1.5),
    "frugal": ("-", 0.8),
    "greedy-entropy": ("-.", 1.5),
    "deep-cmab": ("-.", 1.5),
    "fixed-order": ("--", 1.5),
    "uniform": (":", 1.5),
}
"""Line style and width of each way to ask."""


def accuracy_figure(
    curves: Mapping[str, Sequence[Record]], limit: float | None
) -> Figure | None:
    """Accuracy against the mean number of patches seen.

    Each network that answers has one color, each way to ask one line style.

    Args:
        curves: for each method its rows, with `accuracy`, `accuracy_interval` and
            `mean_regions`.
        limit: accuracy on the fully uncovered image.
    """
    series = [_curve(_look(name), rows) for name, rows in curves.items()]
    if limit is not None:
        look = dataclasses.replace(
            LOOKS["limit"], name=f"classifier on the whole image, {limit:.3f}"
        )
        longest = max(max(one.x) for one in series)
        series.append(Series(look, [0, longest], [limit, limit], markers=False))
    panel = Panel(
        series,
        "mean number of patches seen",
        "accuracy on test images",
        y_range=(0, 1.03),
        legend=True,
    )
    return panels_figure([panel], width=8.6)


def _look(name: str) -> Look:
    line, width = _STROKES[name.removeprefix("ours-").removeprefix("paper-")]
    color = LOOKS["ours" if name.startswith("ours") else "paper"].color
    return Look(_LINE_NAMES[name], color, line=line, width=width)


def _curve(look: Look, rows: Sequence[Record]) -> Series:
    chain = sorted(rows, key=lambda row: row["mean_regions"])
    return Series(
        look,
        [row["mean_regions"] for row in chain],
        [row["accuracy"] for row in chain],
        [row["accuracy_interval"][0] for row in chain],
        [row["accuracy_interval"][1] for row in chain],
        markers=False,
    )
