"""One episode as a figure: what was asked and seen, and the belief after it."""

from collections.abc import Sequence

import numpy as np

from icpe.core.spec import TaskSpec
from icpe.evaluate.frames import Frame
from icpe.evaluate.plots import COLORS, INK, Axes, Figure, figure_type, tidy

_MOST_TICKS = 16
_MOST_WORDS = 24
_NUM_LINES = 5
_LIKELY = 0.02
_TRUTH = "#009E73"


def episode_figure(
    spec: TaskSpec, frames: Sequence[Frame], truth: int, title: str
) -> Figure:
    """Draws the queries with their outcomes above, and the belief below.

    The truth is a heavy line; of the others only the likeliest are drawn.

    Args:
        spec: of the family, for names.
        frames: the steps of the episode, with beliefs.
        truth: the true hypothesis.
        title: of the figure.
    """
    height = 1.6 + 0.22 * min(spec.num_queries, _MOST_TICKS)
    figure = figure_type()(figsize=(7.2, height + 2.6), layout="constrained")
    above, below = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [height, 2.4]}
    )
    _draw_queries(above, spec, frames)
    _draw_belief(below, spec, frames, truth)
    below.set_xlim(0.5, len(frames) + 0.5 + 0.12 * len(frames))
    figure.suptitle(title, fontsize=10, color=INK)
    return figure


def _draw_queries(axes: Axes, spec: TaskSpec, frames: Sequence[Frame]) -> None:
    """A dot for each query, with its outcome in words where there is room."""
    steps = np.arange(1, len(frames) + 1)
    queries = [frame.query for frame in frames]
    axes.plot(steps, queries, color="#bbbbbb", lw=0.8, zorder=1)
    axes.scatter(steps, queries, color=COLORS[0], s=28, zorder=2)
    if len(frames) <= _MOST_WORDS:
        for step, frame in zip(steps, frames, strict=True):
            axes.annotate(
                _outcome_word(frame.outcome, spec),
                (step, frame.query),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=INK,
            )
    stride = -(-spec.num_queries // _MOST_TICKS)
    ticks = range(0, spec.num_queries, stride)
    axes.set_ylabel("query")
    tidy(axes)
    axes.set_yticks(list(ticks), [spec.query_name(query) for query in ticks])
    axes.set_ylim(-0.6, spec.num_queries - 0.2)


def _outcome_word(outcome: np.ndarray, spec: TaskSpec) -> str:
    for word, value in spec.outcome_labels:
        if np.allclose(outcome, value):
            return word
    return f"{outcome[0]:.2f}" if outcome.size == 1 else ""


def _draw_belief(
    axes: Axes, spec: TaskSpec, frames: Sequence[Frame], truth: int
) -> None:
    """A line for each likely hypothesis, named at its end."""
    beliefs = np.array([frame.belief for frame in frames])
    highest = beliefs.max(axis=0)
    likeliest = np.argsort(-highest, kind="stable")[:_NUM_LINES]
    shown = sorted({truth, *(int(h) for h in likeliest if highest[h] >= _LIKELY)})
    steps = np.arange(1, len(frames) + 1)
    others = [color for color in COLORS if color != _TRUTH]
    names = []
    for i, hypothesis in enumerate(shown):
        true = hypothesis == truth
        color = _TRUTH if true else others[i % len(others)]
        width = 2.4 if true else 1.2
        axes.plot(
            steps, beliefs[:, hypothesis], color=color, lw=width, marker="o", ms=3
        )
        name = spec.hypothesis_name(hypothesis) + (" (truth)" if true else "")
        names.append((float(beliefs[-1, hypothesis]), name, color))
    axes.set_xlabel("number of queries")
    axes.set_ylabel("belief")
    axes.set_ylim(-0.03, 1.06)
    tidy(axes)
    _name_ends(axes, len(frames), names)


def _name_ends(axes: Axes, last: int, names: list[tuple[float, str, str]]) -> None:
    """Names of the lines at their right ends, pushed apart where they would touch."""
    lowest = -np.inf
    for height, name, color in sorted(names):
        lowest = max(height, lowest + 0.09)
        axes.annotate(
            name,
            (last, height),
            xytext=(last + 0.02 * last + 0.1, lowest),
            va="center",
            fontsize=8,
            color=color,
        )
