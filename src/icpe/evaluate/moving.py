"""An episode as a moving picture: an SVG file that plays in any browser.

The belief moves as answers come in; the query and its outcome stand above it, and the
family's own picture beside it where it has one. Nothing but text is needed to draw it.
Where people ask for less motion, the last frame stands still.
"""

import dataclasses
from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from icpe.core.spec import TaskSpec

_WIDTH = 720
_TOP = 92
_ROW = 26
_MOST_ROWS = 12
_LABEL = 150
_BARS = 300
_SKYLINE_HEIGHT = 190
_PICTURE_LEFT = 520
_PICTURE_SIZE = 180
_SECONDS_A_STEP = 1.3
_LAST_SECONDS = 3.5
_MOVES = 0.35
"""Seconds in which bars move to their new length."""

_STYLE = """\
<style>
text { font-family: system-ui, sans-serif; font-size: 14px; fill: #1c2333 }
.title { font-size: 17px; font-weight: 600 }
.quiet { fill: #5b6478; font-size: 13px }
.code { font-family: ui-monospace, monospace; font-size: 13px; white-space: pre }
.bar { fill: #3b6fb6 } .right { fill: #12805c } .track { fill: #eef1f6 }
</style>"""


@dataclasses.dataclass(frozen=True)
class Moment:
    """What is shown after one answer.

    Attributes:
        said: the query and its outcome, in words.
        belief: probability of each hypothesis; None if the explorer has no belief.
        picture: lines of text that show the episode so far; may be empty.
        tile: the query and the part of a picture that it uncovered, where it did.
    """

    said: str
    belief: Float[np.ndarray, "hypotheses"] | None
    picture: tuple[str, ...] = ()
    tile: tuple[int, Float[np.ndarray, "outcome"]] | None = None


def moving_episode(
    spec: TaskSpec,
    moments: Sequence[Moment],
    *,
    title: str,
    answer: int,
    truth: int | None = None,
    first_belief: Float[np.ndarray, "hypotheses"] | None = None,
) -> str:
    """The text of an SVG file that plays an episode over and over.

    Args:
        spec: the family's spec, for names.
        moments: what was asked, answered and believed, first to last.
        title: a line above all.
        answer: the hypothesis that was named in the end.
        truth: the right one, if it is known.
        first_belief: the belief before the first query; uniform if None.
    """
    clock = _Clock(len(moments))
    start = np.full(spec.num_hypotheses, 1 / spec.num_hypotheses)
    beliefs = [start if first_belief is None else first_belief]
    for moment in moments:
        beliefs.append(beliefs[-1] if moment.belief is None else moment.belief)
    table = np.stack(beliefs)
    many = spec.num_hypotheses > _MOST_ROWS
    draw, height = (
        (_skyline, _SKYLINE_HEIGHT + 40)
        if many
        else (_rows, _ROW * spec.num_hypotheses)
    )
    tiles = _tiles(spec, moments, clock)
    lines = max((len(moment.picture) for moment in moments), default=0)
    beside = _PICTURE_SIZE if tiles else 18 * lines
    width = _WIDTH if beside else _PICTURE_LEFT
    height = _TOP + max(height, beside) + 24
    verdict = f"Answer: {spec.hypothesis_name(answer)}"
    if truth is not None:
        right = truth == answer
        verdict += ", right" if right else f"; it was {spec.hypothesis_name(truth)}"
    said = ["", *(f"{n}. {it.said}" for n, it in enumerate(moments, 1))]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(title)}: {len(moments)} queries. '
        f'{escape(verdict)}.">',
        _STYLE,
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(20, 30, title, "title"),
        *clock.shown_in_turn(said, 20, 58),
        _appearing(clock, _text(20, 80, f"{verdict}, after {len(moments)} queries.")),
        draw(spec, table, clock, truth),
        tiles,
        *(
            clock.shown_at(number, _block(moment.picture))
            for number, moment in enumerate(moments, 1)
            if moment.picture and not tiles
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Clock:
    """When each moment is shown, as shares of one round."""

    def __init__(self, steps: int):
        self.seconds = _SECONDS_A_STEP * (steps + 1) + _LAST_SECONDS
        self.starts = [
            _SECONDS_A_STEP * step / self.seconds for step in range(steps + 1)
        ]

    def animate(self, attribute: str, values: Sequence[float]) -> str:
        """Lets a number move to its next value at the start of each moment."""
        moves = _MOVES / self.seconds
        times, shown = [0.0], [values[0]]
        for start, value in zip(self.starts[1:], values[1:], strict=True):
            times += [start, start + moves]
            shown += [shown[-1], value]
        times, shown = [*times, 1.0], [*shown, shown[-1]]
        return (
            f'<animate attributeName="{attribute}" dur="{self.seconds:g}s" '
            f'repeatCount="indefinite" keyTimes="{_joined(times, 4)}" '
            f'values="{_joined(shown, 1)}"/>'
        )

    def shown_at(self, number: int, element: str) -> str:
        """An element that is there during one moment alone; the last one stays."""
        last = number == len(self.starts) - 1
        times, on = [0.0, self.starts[number]], ["0", "1"]
        if not number:
            times, on = [0.0], ["1"]
        if not last:
            times, on = [*times, self.starts[number + 1]], [*on, "0"]
        return (
            f'<g opacity="{1 if last else 0}">{element}<animate '
            f'attributeName="opacity" dur="{self.seconds:g}s" calcMode="discrete" '
            f'repeatCount="indefinite" keyTimes="{_joined(times, 4)}" '
            f'values="{";".join(on)}"/></g>'
        )

    def shown_from(self, number: int, element: str) -> str:
        """An element that appears at a moment and stays."""
        return (
            f'<g>{element}<animate attributeName="opacity" dur="{self.seconds:g}s" '
            f'calcMode="discrete" repeatCount="indefinite" keyTimes="0;'
            f'{_joined([self.starts[number]], 4)}" values="0;1"/></g>'
        )

    def shown_in_turn(self, lines: Sequence[str], x: int, y: int) -> list[str]:
        """Lines of text that take one another's place."""
        return [
            self.shown_at(number, _text(x, y, line))
            for number, line in enumerate(lines)
            if line
        ]


def _rows(
    spec: TaskSpec,
    beliefs: Float[np.ndarray, "moments hypotheses"],
    clock: _Clock,
    truth: int | None,
) -> str:
    """One bar a hypothesis, with its name."""
    parts = []
    for hypothesis in range(spec.num_hypotheses):
        y = _TOP + _ROW * hypothesis
        widths = _BARS * beliefs[:, hypothesis]
        name = spec.hypothesis_name(hypothesis)
        short = name if len(name) <= 20 else name[:19] + "…"
        parts += [
            f'<text x="{_LABEL - 10}" y="{y + 15}" text-anchor="end">'
            f"{escape(short)}</text>",
            f'<rect class="track" x="{_LABEL}" y="{y + 2}" width="{_BARS}" '
            'height="17" rx="3"/>',
            f'<rect class="{"right" if hypothesis == truth else "bar"}" x="{_LABEL}" '
            f'y="{y + 2}" width="{widths[-1]:.1f}" height="17" rx="3">'
            f"{clock.animate('width', widths.tolist())}</rect>",
        ]
    return "\n".join(parts)


def _skyline(
    spec: TaskSpec,
    beliefs: Float[np.ndarray, "moments hypotheses"],
    clock: _Clock,
    truth: int | None,
) -> str:
    """One thin column a hypothesis, where they are many; neighbors share one.

    The tallest column of each moment has full height, so that a belief that is spread
    over many is seen as well.
    """
    number = min(spec.num_hypotheses, 128)
    parts_of = np.array_split(np.arange(spec.num_hypotheses), number)
    width = 460 / number
    bottom = _TOP + _SKYLINE_HEIGHT
    parts = [
        f'<line x1="20" x2="480" y1="{bottom}" y2="{bottom}" stroke="#c3cad8"/>',
        _text(20, bottom + 20, spec.hypothesis_name(0), "quiet"),
        f'<text class="quiet" x="480" y="{bottom + 20}" text-anchor="end">'
        f"{escape(spec.hypothesis_name(spec.num_hypotheses - 1))}</text>",
    ]
    shares = np.stack([beliefs[:, members].sum(axis=1) for members in parts_of])
    relative = shares / shares.max(axis=0)
    for place, members in enumerate(parts_of):
        heights = (_SKYLINE_HEIGHT - 6) * relative[place]
        if heights.max() < 0.05:
            continue
        kind = "right" if truth in members else "bar"
        parts.append(
            f'<rect class="{kind}" x="{20 + width * place:.2f}" '
            f'width="{max(width - 0.6, 0.8):.2f}" y="{bottom - heights[-1]:.1f}" '
            f'height="{heights[-1]:.1f}">'
            f"{clock.animate('height', heights.tolist())}"
            f"{clock.animate('y', (bottom - heights).tolist())}</rect>"
        )
    return "\n".join(parts)


def _tiles(spec: TaskSpec, moments: Sequence[Moment], clock: _Clock) -> str:
    """The picture that queries uncover, tile by tile; empty where there is none."""
    if not (spec.query_grid and spec.outcome_shape):
        return ""
    (rows, columns), (height, width) = spec.query_grid, spec.outcome_shape
    pixel = _PICTURE_SIZE / max(rows * height, columns * width)
    parts = [
        f'<rect x="{_PICTURE_LEFT}" y="{_TOP}" width="{pixel * columns * width:.1f}" '
        f'height="{pixel * rows * height:.1f}" fill="#1f385c"/>'
    ]
    for number, moment in enumerate(moments, 1):
        if moment.tile is None:
            continue
        query, values = moment.tile
        row, column = divmod(query, columns)
        left, top = column * width, row * height
        squares = [
            f'<rect x="{_PICTURE_LEFT + pixel * (left + x):.1f}" '
            f'y="{_TOP + pixel * (top + y):.1f}" width="{pixel + 0.2:.1f}" '
            f'height="{pixel + 0.2:.1f}" fill="{_gray(value)}"/>'
            for (y, x), value in np.ndenumerate(np.reshape(values, (height, width)))
        ]
        parts.append(clock.shown_from(number, "".join(squares)))
    return "\n".join(parts)


def _gray(value: float) -> str:
    level = round(255 * float(np.clip(value, 0, 1)))
    return f"#{level:02x}{level:02x}{level:02x}"


def _block(lines: Sequence[str]) -> str:
    rows = (
        f'<tspan x="{_PICTURE_LEFT}" dy="{18 if n else 0}">{escape(line)}</tspan>'
        for n, line in enumerate(lines)
    )
    start = f'<text class="code" y="{_TOP + 14}" xml:space="preserve">'
    return f"{start}{''.join(rows)}</text>"


def _appearing(clock: _Clock, element: str) -> str:
    return clock.shown_at(len(clock.starts) - 1, element)


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x}" y="{y}">{escape(words)}</text>'


def _joined(values: Sequence[float], digits: int) -> str:
    return ";".join(
        f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0" for value in values
    )
