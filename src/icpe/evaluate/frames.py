"""An episode on a picture as pictures: a strip, or a moving one.

Hidden tiles are blue, the newest tile has a frame, and the most probable answers
stand below.
"""

import dataclasses
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from icpe.core.errors import InvalidParameterError, UnsupportedError, missing_extra
from icpe.core.files import replacing
from icpe.core.spec import TaskSpec
from icpe.evaluate.plots import Figure, figure_type

_HIDDEN = (31, 56, 92)
_NEWEST, _NEWEST_COLOR = "#E69F00", (230, 159, 0)
_RIGHT, _WRONG = "#009E73", "#D55E00"


class Frame(NamedTuple):
    """A query, the tile it showed, and the belief after it (None without one)."""

    query: int
    outcome: Float[np.ndarray, "outcome"]
    belief: Float[np.ndarray, "hypotheses"] | None


@dataclasses.dataclass(frozen=True)
class PictureEpisode:
    """What was asked and seen in an episode, and the truth.

    Raises:
        UnsupportedError: the queries are not the tiles of a picture.
    """

    spec: TaskSpec
    steps: tuple[Frame, ...]
    truth: int

    def __post_init__(self):
        if not (self.spec.query_grid and self.spec.outcome_shape):
            raise UnsupportedError(
                "Frames need a family whose queries are the tiles of a picture, such "
                "as 'patches'; this one has none."
            )

    def canvas(self, number: int) -> Float[np.ndarray, "rows columns"]:
        """The picture after so many steps, NaN where it is hidden."""
        (rows, columns), (height, width) = self.spec.query_grid, self.spec.outcome_shape
        tiles = np.full((rows * columns, height, width), np.nan)
        for step in self.steps[:number]:
            tiles[step.query] = step.outcome.reshape(height, width)
        placed = tiles.reshape(rows, columns, height, width).swapaxes(1, 2)
        return placed.reshape(rows * height, columns * width)


def picture_of(
    episode: PictureEpisode, number: int
) -> UInt8[np.ndarray, "rows columns 3"]:
    """The picture after so many steps, in colors."""
    canvas = episode.canvas(number)
    gray = np.round(255 * np.clip(np.nan_to_num(canvas), 0, 1)).astype(np.uint8)
    picture = np.repeat(gray[..., None], 3, axis=-1)
    picture[np.isnan(canvas)] = _HIDDEN
    return picture


def strip_figure(episode: PictureEpisode, *, columns: int = 8) -> Figure:
    """All steps of an episode side by side, with the belief after each."""
    number = len(episode.steps)
    columns = min(columns, number + 1)
    rows = -(-(number + 1) // columns)
    figure = figure_type()(figsize=(1.35 * columns, 1.85 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for t, axis in enumerate(axes):
        if t > number:
            axis.axis("off")
        else:
            _draw_frame(axis, episode, t)
    return figure


def save_animation(
    episode: PictureEpisode, path: Path, *, scale: int = 8, milliseconds: int = 700
) -> None:
    """Writes the episode as an animated GIF; the last frame stays three times longer.

    Raises:
        InvalidParameterError: the name does not end in .gif.
    """
    if path.suffix.lower() != ".gif":
        raise InvalidParameterError(
            f"An animation's file must end in .gif; got {str(path)!r}."
        )
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra("Animations need Pillow", "plot") from error
    frames = [
        Image.fromarray(_pixels(episode, t, scale))
        for t in range(len(episode.steps) + 1)
    ]
    durations = [milliseconds] * (len(frames) - 1) + [3 * milliseconds]
    with replacing(path) as temporary:
        frames[0].save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=frames[1:],
            duration=durations,
            loop=0,
        )


def _draw_frame(axis, episode: PictureEpisode, number: int) -> None:
    from matplotlib.patches import Rectangle

    axis.imshow(picture_of(episode, number), interpolation="nearest")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_title("start" if number == 0 else f"patch {number}", fontsize=8, pad=3)
    if number == 0:
        return
    step = episode.steps[number - 1]
    height, width = episode.spec.outcome_shape
    row, column = _place(episode, number)
    axis.add_patch(
        Rectangle(
            (column * width - 0.5, row * height - 0.5),
            width,
            height,
            fill=False,
            edgecolor=_NEWEST,
            linewidth=1.6,
        )
    )
    if step.belief is not None:
        best = np.argsort(step.belief)[::-1][:2]
        words = "  ".join(
            f"{episode.spec.hypothesis_name(int(h))} {step.belief[h]:.2f}" for h in best
        )
        color = _RIGHT if best[0] == episode.truth else _WRONG
        axis.set_xlabel(words, fontsize=8, color=color, labelpad=3)


def _pixels(
    episode: PictureEpisode, number: int, scale: int
) -> UInt8[np.ndarray, "rows columns 3"]:
    """The picture magnified, above a bar for each hypothesis."""
    magnify = np.ones((scale, scale, 1), np.uint8)
    large = np.kron(picture_of(episode, number), magnify)
    if number:
        height, width = (scale * side for side in episode.spec.outcome_shape)
        row, column = _place(episode, number)
        tile = large[row * height :, column * width :][:height, :width]
        tile[:2] = tile[-2:] = tile[:, :2] = tile[:, -2:] = _NEWEST_COLOR
    return np.concatenate([large, _bars(episode, number, large.shape[1])])


def _place(episode: PictureEpisode, number: int) -> tuple[int, int]:
    """Row and column of the newest tile."""
    return divmod(episode.steps[number - 1].query, episode.spec.query_grid[1])


def _bars(
    episode: PictureEpisode, number: int, width: int
) -> UInt8[np.ndarray, "rows columns 3"]:
    """The belief as bars in a field of fixed height; the truth's bar is green."""
    height, num = 40, episode.spec.num_hypotheses
    field = np.full((height, width, 3), 255, np.uint8)
    belief = episode.steps[number - 1].belief if number else None
    if belief is None:
        belief = np.full(num, 1.0 / num)
    edges = np.linspace(0, width, num + 1).astype(int)
    for h in range(num):
        top = height - round((height - 4) * float(belief[h]))
        color = (0, 158, 115) if h == episode.truth else (0, 114, 178)
        field[top:, edges[h] + 1 : edges[h + 1] - 1] = color
    return field
