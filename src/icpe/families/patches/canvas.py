"""The picture seen so far, in characters that need no colors."""

import numpy as np
from jaxtyping import Float

from icpe.core.history import History

_SHADES = " ░▒▓█"
_HIDDEN = "·"


def canvas_lines(
    history: History, grid: tuple[int, int], tile: tuple[int, int]
) -> tuple[str, ...]:
    """The picture, two rows of pixels in a line; dots where it is hidden.

    Args:
        history: what was asked and seen.
        grid: rows and columns of tiles.
        tile: rows and columns of pixels in a tile.
    """
    (rows, columns), (height, width) = grid, tile
    tiles = np.full((rows * columns, height, width), np.nan)
    for step in range(int(history.length)):
        shown = np.asarray(history.outcomes[step + 1])
        tiles[int(history.queries[step])] = shown.reshape(tile)
    placed = tiles.reshape(rows, columns, height, width).swapaxes(1, 2)
    pixels = placed.reshape(rows * height, columns * width)
    pairs = [pixels[i : i + 2] for i in range(0, len(pixels), 2)]
    return tuple("".join(map(_character, pair.T)) for pair in pairs)


def _character(pair: Float[np.ndarray, "rows"]) -> str:
    seen = pair[~np.isnan(pair)]
    if not seen.size:
        return _HIDDEN
    level = int(np.clip(seen.mean(), 0.0, 0.999) * len(_SHADES))
    return _SHADES[level]
