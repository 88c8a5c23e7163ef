"""Figures of pairwise tests: a heat map of p-values, and a chord diagram."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from icpe.evaluate.plots import COLORS, INK, MARKERS, Axes, Figure, figure_type, tidy

ALPHA = 0.05
"""Two classes with a p-value above this are not told apart, and get a chord."""


def heat_map_figure(
    p_values: Mapping[str, Float[np.ndarray, "classes classes"]],
    class_names: Sequence[str],
) -> Figure:
    """A heat map of pairwise p-values for each explorer.

    Dark cells are pairs whose regions differ; cells without a test are gray.
    """
    figure = figure_type()(
        figsize=(3.4 * len(p_values) + 0.7, 3.6), layout="constrained"
    )
    row = figure.subplots(1, len(p_values), squeeze=False)[0]
    image = None
    for axes, (name, matrix) in zip(row, p_values.items(), strict=True):
        shown = np.ma.masked_invalid(np.log10(np.maximum(matrix, 1e-10)))
        axes.set_facecolor("#dddddd")
        image = axes.imshow(shown, cmap="Blues_r", vmin=-10, vmax=0)
        axes.set_xticks(range(len(class_names)), class_names, fontsize=8)
        axes.set_yticks(range(len(class_names)), class_names, fontsize=8)
        axes.set_title(
            f"{name}: {num_chords(matrix)} of {num_tests(matrix)} pairs alike",
            fontsize=9,
            color=INK,
        )
    if image is not None:
        bar = figure.colorbar(
            image, ax=row, shrink=0.8, ticks=[-10, -5, np.log10(ALPHA)]
        )
        bar.ax.set_yticklabels(["1e-10", "1e-5", f"{ALPHA:g}"], fontsize=8)
        bar.set_label("p-value", fontsize=8)
    return figure


def chord_figure(
    p_values: Mapping[str, Float[np.ndarray, "classes classes"]],
    class_names: Sequence[str],
) -> Figure:
    """A chord between two classes whose regions are not told apart, for each explorer.

    Chords are thicker for larger p-values; few chords are the mark of an explorer
    that looks elsewhere when the truth is another.
    """
    figure = figure_type()(figsize=(3.3 * len(p_values), 3.7), layout="constrained")
    row = figure.subplots(1, len(p_values), squeeze=False)[0]
    for axes, (name, matrix) in zip(row, p_values.items(), strict=True):
        _draw_chords(axes, matrix, class_names)
        chords, tests = num_chords(matrix), num_tests(matrix)
        axes.set_title(f"{name}: {chords} of {tests}", fontsize=9, color=INK)
    return figure


def num_chords(p_values: Float[np.ndarray, "classes classes"]) -> int:
    """Pairs that are not told apart."""
    upper = p_values[np.triu_indices(len(p_values), 1)]
    return int(np.sum(upper > ALPHA))


def num_tests(p_values: Float[np.ndarray, "classes classes"]) -> int:
    """Pairs that were compared."""
    upper = p_values[np.triu_indices(len(p_values), 1)]
    return int(np.sum(np.isfinite(upper)))


def _draw_chords(
    axes: Axes, matrix: Float[np.ndarray, "classes classes"], names: Sequence[str]
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    number = len(names)
    angle = np.pi / 2 - 2 * np.pi * np.arange(number) / number
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for i in range(number):
        for j in range(i):
            if matrix[i, j] > ALPHA:
                path = Path(
                    [place[i], (0.0, 0.0), place[j]],
                    [Path.MOVETO, Path.CURVE3, Path.CURVE3],
                )
                axes.add_patch(
                    PathPatch(
                        path,
                        fill=False,
                        edgecolor=COLORS[i % len(COLORS)],
                        linewidth=0.6 + 5.0 * matrix[i, j],
                        alpha=0.75,
                        capstyle="round",
                    )
                )
    for i, name in enumerate(names):
        color = COLORS[i % len(COLORS)]
        x, y = map(float, place[i])
        axes.plot(x, y, marker="o", markersize=15, color=color)
        axes.text(x, y, name, ha="center", va="center", color="white", fontsize=9)
    axes.set_xlim(-1.2, 1.2)
    axes.set_ylim(-1.2, 1.2)
    axes.set_aspect("equal")
    axes.axis("off")


def region_curves_figure(
    curves: Mapping[str, Sequence[Mapping]],
    *,
    limit: float | None = None,
    dashed: Sequence[str] = (),
) -> Figure:
    """Accuracy against the mean number of distinct regions, one line per explorer.

    Args:
        curves: for each explorer its rows, with `accuracy`, `accuracy_interval` and
            `mean_regions`.
        limit: accuracy on the fully revealed image.
        dashed: explorers drawn with a dashed line.
    """
    figure = figure_type()(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for i, (name, rows) in enumerate(curves.items()):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        chain = sorted(rows, key=lambda row: row["mean_regions"])
        regions = [row["mean_regions"] for row in chain]
        low, high = np.array([row["accuracy_interval"] for row in chain]).T
        axes.fill_between(regions, low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            regions,
            [row["accuracy"] for row in chain],
            color=color,
            marker=marker,
            markersize=3.5,
            lw=1.4,
            ls="--" if name in dashed else "-",
            label=name,
        )
    if limit is not None:
        axes.axhline(limit, color=INK, lw=1.0, ls=":")
        axes.annotate(
            f"whole image {limit:.3f}",
            (0.01, limit),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8,
            color=INK,
        )
    axes.set_xlabel("mean number of patches seen")
    axes.set_ylabel("accuracy on test images")
    axes.set_ylim(0, 1.03)
    axes.set_xlim(left=0)
    tidy(axes)
    axes.legend(
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        labelcolor="linecolor",
        fontsize=8,
    )
    return figure
