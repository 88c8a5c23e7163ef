"""Figures of reports: accuracy against queries, and how long episodes last.

matplotlib is imported inside the functions and used without pyplot, so that nothing
global changes and no window system is needed.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from icpe.core.errors import missing_extra
from icpe.core.figure_paths import check_figure_path
from icpe.core.files import replacing
from icpe.evaluate.regret import RegretReport
from icpe.evaluate.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = Any

# Okabe and Ito's palette, told apart by color-blind readers; markers differ as well.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", "*")
INK = "#444444"
_TITLE_WIDTH = 64
_SHOWN_TAIL = 0.005
_SUBTITLE: Any = {"fontsize": 9, "color": INK, "loc": "left"}


def comparison_figure(
    reports: Sequence[Report], curves: Mapping[str, Sequence[Report]]
) -> Figure:
    """One figure for a comparison of explorers.

    Left, accuracy against mean queries along each explorer's curve, with the
    operating point of `reports` emphasized; right, the survival function at that
    point, left out for fixed budgets, where it is known.

    Args:
        reports: one report per explorer, at the operating point of interest.
        curves: for each explorer its reports at several operating points.
    """
    with_survival = any(report.budget is None for report in reports)
    figure = figure_type()(
        figsize=(9.6 if with_survival else 5.6, 4.2), layout="constrained"
    )
    axes = figure.subplots(1, 1 + with_survival, squeeze=False)[0]
    draw_accuracy(axes[0], curves, emphasized=reports)
    axes[0].set_title(f"large marks: {_describe_request(reports[0])}", **_SUBTITLE)
    if with_survival:
        draw_survival(axes[1], reports)
        axes[1].set_title(f"at {_describe_request(reports[0])}", **_SUBTITLE)
    title = textwrap.shorten(reports[0].title, 2 * _TITLE_WIDTH, placeholder=" ...")
    lines = textwrap.fill(title, _TITLE_WIDTH * len(axes))
    figure.suptitle(lines, fontsize=10, color=INK)
    return figure


def draw_accuracy(
    axes: Axes,
    curves: Mapping[str, Sequence[Report]],
    emphasized: Sequence[Report] = (),
) -> None:
    """Draws accuracy (with 95 % intervals) against mean queries, one line each."""
    for i, (name, reports) in enumerate(curves.items()):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        if not reports:
            continue
        chain = sorted(reports, key=lambda report: report.mean_queries)
        queries = np.array([report.mean_queries for report in chain])
        accuracy = np.array([report.accuracy for report in chain])
        low, high = np.array([report.accuracy_interval for report in chain]).T
        axes.fill_between(queries, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            queries,
            accuracy,
            color=color,
            marker=marker,
            markersize=4,
            lw=1.5,
            label=name,
        )
        for report in emphasized:
            if report.explorer == name:
                axes.plot(
                    report.mean_queries,
                    report.accuracy,
                    marker=marker,
                    markersize=9,
                    markerfacecolor="white",
                    markeredgecolor=color,
                    markeredgewidth=2,
                )
    axes.set_xlabel("mean number of queries")
    axes.set_ylabel("accuracy")
    axes.set_xlim(left=0)
    tidy(axes)
    _name_lines(axes, "lower right")


def draw_survival(axes: Axes, reports: Sequence[Report]) -> None:
    """Draws P(number of queries > t) as a staircase, one per report.

    The axis ends where the largest of them has all but vanished.
    """
    for i, report in enumerate(reports):
        axes.step(
            range(len(report.survival)),
            report.survival,
            where="post",
            color=COLORS[i % len(COLORS)],
            lw=1.5,
            label=report.explorer,
        )
    axes.set_xlabel("number of queries t")
    axes.set_ylabel("P(more than t queries)")
    last = [int(np.sum(np.array(r.survival) > _SHOWN_TAIL)) for r in reports]
    axes.set_xlim(0, 1.1 * max(last, default=1) + 1)
    axes.set_ylim(0, 1.02)
    tidy(axes)
    _name_lines(axes, "upper right")


def regret_figure(reports: Sequence[RegretReport]) -> Figure:
    """Mean regret against the number of pulls, one line per explorer."""
    figure = figure_type()(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.subplots()
    for i, report in enumerate(reports):
        pulls = range(1, report.horizon + 1)
        color = COLORS[i % len(COLORS)]
        axes.plot(pulls, report.curve, color=color, lw=1.5, label=report.explorer)
    axes.set_xlabel("number of pulls")
    axes.set_ylabel("mean regret")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    tidy(axes)
    axes.legend(loc="upper left", frameon=False, labelcolor="linecolor", fontsize=9)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the suffix; a crash leaves no half file.

    Raises:
        InvalidParameterError: the suffix is unknown or the file cannot be written.
        WriteError: writing failed, as on a full disk.
    """
    check_plot_path(path)
    from matplotlib import rc_context

    # Equal figures give equal files: no date, no random names inside an SVG.
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "icpe"}):
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        figure.savefig(
            temporary, dpi=160, metadata=metadata, format=path.suffix[1:].lower()
        )


def check_plot_path(path: Path) -> None:
    """Raises unless a figure could be written there; call it before long work."""
    figure_type()
    check_figure_path(path)


def figure_type() -> type[Figure]:
    """matplotlib's figure, or an error that says how to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("Figures need matplotlib", "plot") from error
    return Figure


def tidy(axes: Axes) -> None:
    """The look that all axes share."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=9)
    axes.locator_params(axis="x", integer=True)


def _name_lines(axes: Axes, corner: Literal["lower right", "upper right"]) -> None:
    """Names the lines in their own colors, in the corner that they leave free."""
    axes.legend(loc=corner, frameon=False, labelcolor="linecolor", fontsize=9)


def _describe_request(report: Report) -> str:
    asked = {
        "error probability": report.error_prob,
        "budget": report.budget,
        "price": report.price,
    }
    return ", ".join(f"{k} {v:g}" for k, v in asked.items() if v is not None)
