"""Figures of studies: lines with their names beside them, in colors that all can tell.

A method has the same color, marker and name in every figure.
"""

import dataclasses
import math
import textwrap
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from icpe.evaluate.plots import INK, Axes, Figure, figure_type, tidy
from icpe.studies.tables import Estimate


@dataclasses.dataclass(frozen=True)
class Look:
    """How a method is drawn, and what it is called."""

    name: str
    color: str
    marker: str = "o"
    line: str = "-"
    width: float = 1.5


# Okabe and Ito's palette, told apart by color-blind readers; markers differ as well.
LOOKS = {
    "ours": Look("ours", "#0072B2", "o", "-", 2.4),
    "paper": Look("paper", "#D55E00", "s", "none"),
    "limit": Look("optimum", "#000000", "_", "--"),
    "top-two": Look("exact-posterior top two", "#009E73", "^"),
    "track-and-stop": Look("Track-and-Stop", "#CC79A7", "D"),
    "ttps": Look("TTPS", "#E69F00", "v"),
    "uniform": Look("uniform", "#7F7F7F", "x", ":"),
    "uniform-sampling": Look("uniform", "#7F7F7F", "x", ":"),
    "i-dpt": Look("I-DPT", "#56B4E9", "P"),
    "i-ids": Look("I-IDS", "#CC79A7", "D"),
    "information-gain": Look("exact IDS", "#E69F00", "v"),
    "exact-binary-search": Look("exact search", "#009E73", "^"),
    "informed-greedy": Look("knows graph and prior", "#009E73", "^"),
    "tas-fg": Look("TaS-FG", "#CC79A7", "D"),
    "exp3-g": Look("EXP3.G", "#E69F00", "v"),
    "dqn": Look("DQN", "#E69F00", "v"),
    "ucb": Look("UCB", "#E69F00", "v"),
    "thompson": Look("Thompson sampling", "#CC79A7", "D"),
    "gaussian-ids": Look("IDS", "#56B4E9", "P"),
    "explore-then-commit": Look("ours, explore then commit", "#0072B2", "o", "-", 2.4),
}


NamePlace = tuple[float, Literal["left", "right"]]
"""Where a name stands: at this height of its line, on this side of it."""


@dataclasses.dataclass(frozen=True)
class Series:
    """A line: where it goes, how far it may be off, and how it looks."""

    look: Look
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    markers: bool = True
    steps: bool = False
    """Whether a value holds until the next place."""
    name_at: NamePlace | None = None
    """Beside the line where there is room, else at the right edge of the panel."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    series: Sequence[Series]
    x_label: str
    y_label: str
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    x_ticks: Sequence[float] = ()
    y_ticks: Sequence[float] = ()
    y_range: tuple[float | None, float | None] = (None, None)
    y_line: float | None = None
    x_line: tuple[float, str] | None = None
    """A place to compare with, and what the legend calls it."""
    legend: bool = False
    """Names in a column of their own, for lines that all end in one place."""


def panels_figure(panels: Sequence[Panel], *, width: float = 5.4) -> Figure | None:
    """Panels side by side; None if there is nothing to draw."""
    panels = [panel for panel in panels if _has_results(panel)]
    if not panels:
        return None
    figure = figure_type()(
        figsize=(width * len(panels), 3.9), layout="constrained", facecolor="white"
    )
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        _draw(axes, panel)
    return figure


def _has_results(panel: Panel) -> bool:
    return any(len(one.x) and one.look is not LOOKS["paper"] for one in panel.series)


def line(
    method: str, x: Sequence[float], estimates: Sequence[Estimate | float | None]
) -> Series:
    """A method's line through what is known of it, with intervals where all have."""
    known = [
        (place, one if isinstance(one, Estimate) else Estimate(float(one)))
        for place, one in zip(x, estimates, strict=True)
        if one is not None and not math.isnan(one[0] if isinstance(one, tuple) else one)
    ]
    intervals = [one.interval for _, one in known if one.interval is not None]
    whole = bool(known) and len(intervals) == len(known)
    return Series(
        LOOKS[method],
        [place for place, _ in known],
        [one.value for _, one in known],
        [low for low, _ in intervals] if whole else None,
        [high for _, high in intervals] if whole else None,
    )


def named(figure: Figure | None, name: str) -> dict[str, Any]:
    """The figure under its name, nothing if there is none."""
    return {} if figure is None else {name: figure}


def _draw(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import LogLocator

    shown = [series for series in panel.series if len(series.x)]
    if panel.y_line is not None:
        axes.axhline(panel.y_line, color="#999999", lw=0.9, zorder=1)
    if panel.x_line is not None:
        place, words = panel.x_line
        color = LOOKS["paper"].color
        axes.axvline(place, color=color, lw=1.1, ls=":", zorder=1, label=words)
    for series in shown:
        look = series.look
        if series.low is not None and series.high is not None:
            _draw_interval(axes, series, series.low, series.high)
        axes.plot(
            series.x,
            series.y,
            color=look.color,
            linestyle=look.line,
            lw=look.width,
            drawstyle="steps-post" if series.steps else "default",
            marker=look.marker if series.markers else "none",
            markersize=5.5,
            zorder=4 if look.width > 2 else 3,
            label=look.name,
        )
    tidy(axes)
    if panel.log_x:
        axes.set_xscale("log", base=2 if panel.x_ticks else 10)
    if panel.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    if panel.x_ticks:
        axes.set_xticks(list(panel.x_ticks), [f"{tick:g}" for tick in panel.x_ticks])
        axes.minorticks_off()
    if panel.y_ticks:
        axes.set_yticks(list(panel.y_ticks), [f"{tick:g}" for tick in panel.y_ticks])
        axes.tick_params(axis="y", which="minor", length=0)
    axes.set_ylim(*panel.y_range)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title, fontsize=10, color=INK, loc="left")
    if panel.legend:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            labelcolor="linecolor",
            fontsize=9,
        )
    else:
        _label_beside(axes, [one for one in shown if one.name_at is not None])
        _label_ends(axes, [one for one in shown if one.name_at is None])


def _draw_interval(
    axes: Axes, series: Series, low: Sequence[float], high: Sequence[float]
) -> None:
    """A band around a line, a bar through a single point."""
    color = series.look.color
    if len(series.x) == 1:
        axes.vlines(series.x, low, high, color=color, lw=1.2, zorder=3)
    else:
        axes.fill_between(series.x, low, high, color=color, alpha=0.15, lw=0)


def _label_beside(axes: Axes, shown: Sequence[Series]) -> None:
    """Writes names beside their lines, where the series says that there is room."""
    for series in shown:
        assert series.name_at is not None
        height, side = series.name_at
        order = np.argsort(series.y)
        place = np.interp(height, np.take(series.y, order), np.take(series.x, order))
        axes.annotate(
            textwrap.fill(series.look.name, 16),
            (float(place), height),
            xytext=(7, 0) if side == "right" else (-7, 0),
            textcoords="offset points",
            color=series.look.color,
            fontsize=9,
            ha="left" if side == "right" else "right",
            va="bottom" if side == "right" else "top",
            fontweight="bold" if series.look.width > 2 else "normal",
        )


def _label_ends(axes: Axes, shown: Sequence[Series]) -> None:
    """Writes the name of each line beside its last point, kept apart from others.

    Lines may end at different places; names stand in a column at the right edge, in
    the order of the ends.
    """
    axes.autoscale_view()  # settles the limits, on which the transform depends
    transform = axes.transData + axes.transAxes.inverted()
    ends = []
    for series in shown:
        last = int(np.argmax(series.x))
        height = transform.transform((series.x[last], series.y[last]))[1]
        ends.append(float(np.clip(height, 0.0, 1.0)))
    order = np.argsort(ends)
    heights = _apart([ends[i] for i in order], gap=0.068)
    for i, height in zip(order, heights, strict=True):
        look = shown[i].look
        axes.annotate(
            look.name,
            (1.015, height),
            xycoords="axes fraction",
            color=look.color,
            fontsize=8.5,
            va="center",
            annotation_clip=False,
            fontweight="bold" if look.width > 2 else "normal",
        )


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Sorted heights, moved as little as needed to keep a gap, within [0, 1]."""
    placed = list(heights)
    for _ in range(100):
        moved = False
        for i in range(len(placed) - 1):
            lack = gap - (placed[i + 1] - placed[i])
            if lack > 1e-9:
                placed[i] -= lack / 2
                placed[i + 1] += lack / 2
                moved = True
        if not moved:
            break
    shift = max(0.0, -placed[0]) - max(0.0, placed[-1] - 1.0) if placed else 0.0
    return [height + shift for height in placed]
