"""Figures of pairwise tests: a heat map of p-values, and a chord diagram."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from icpe.core.errors import InvalidParameterError
from icpe.evaluate.plots import INK, Axes, Figure, figure_type

ALPHA = 0.05
"""Two classes with a p-value above this are not told apart, and get a chord."""

# Paul Tol's muted palette and a gray: ten colors that color-blind readers can tell.
_CLASS_COLORS = (
    "#CC6677",
    "#332288",
    "#DDCC77",
    "#117733",
    "#88CCEE",
    "#882255",
    "#44AA99",
    "#999933",
    "#AA4499",
    "#666666",
)
_PALE = ("#DDCC77", "#88CCEE", "#44AA99", "#999933")


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
) -> Figure | None:
    """A chord between two classes whose regions are not told apart, for each explorer.

    Chords are thicker for larger p-values and have the color of their later end; few
    chords are the mark of an explorer that looks elsewhere when the truth is another.
    Explorers without a chord are named below the others; None if no explorer has one.

    Raises:
        InvalidParameterError: there are more classes than colors.
    """
    if len(class_names) > len(_CLASS_COLORS):
        raise InvalidParameterError(
            f"class_names: chords are drawn for at most {len(_CLASS_COLORS)} classes, "
            f"got {len(class_names)}."
        )
    drawn = {name: m for name, m in p_values.items() if num_chords(m)}
    if not drawn:
        return None
    figure = figure_type()(figsize=(3.6 * len(drawn), 4.0), layout="constrained")
    row = figure.subplots(1, len(drawn), squeeze=False)[0]
    for axes, (name, matrix) in zip(row, drawn.items(), strict=True):
        _draw_chords(axes, matrix, class_names)
        axes.set_title(
            f"{name}: {num_chords(matrix)} of {num_tests(matrix)} pairs alike",
            fontsize=10,
            color=INK,
        )
    without = [name for name in p_values if name not in drawn]
    if without:
        words = f"no pair alike, so no chord: {', '.join(without)}"
        figure.supxlabel(words, fontsize=10, color=INK)
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
                        edgecolor=_CLASS_COLORS[i],
                        linewidth=0.6 + 5.0 * matrix[i, j],
                        alpha=0.75,
                        capstyle="round",
                    )
                )
    for i, name in enumerate(names):
        color = _CLASS_COLORS[i]
        x, y = map(float, place[i])
        axes.plot(x, y, marker="o", markersize=15, color=color)
        ink = "black" if color in _PALE else "white"
        axes.text(x, y, name, ha="center", va="center", color=ink, fontsize=9)
    axes.set_xlim(-1.2, 1.2)
    axes.set_ylim(-1.2, 1.2)
    axes.set_aspect("equal")
    axes.axis("off")
