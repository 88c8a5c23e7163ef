"""The picture seen so far, in characters that need no colors."""

import numpy as np
from jaxtyping import Float

from icpe.core.family import TaskSpec

_SHADES = " ░▒▓█"
_HIDDEN = "·"


class Canvas:
    """Uncovers the tiles of a picture one by one."""

    def __init__(self, spec: TaskSpec):
        self._grid, self._tile = spec.query_grid, spec.outcome_shape
        self._tiles = np.full((spec.num_queries, *self._tile), np.nan)

    def uncover(self, query: int, outcome: Float[np.ndarray, "outcome"]) -> None:
        """Shows one more tile."""
        self._tiles[query] = outcome.reshape(self._tile)

    def lines(self) -> list[str]:
        """The picture, two rows of pixels in a line; dots where it is hidden."""
        (rows, columns), (height, width) = self._grid, self._tile
        placed = self._tiles.reshape(rows, columns, height, width).swapaxes(1, 2)
        pixels = placed.reshape(rows * height, columns * width)
        pairs = [pixels[i : i + 2] for i in range(0, len(pixels), 2)]
        return ["".join(map(_character, pair.T)) for pair in pairs]


def _character(pair: Float[np.ndarray, "rows"]) -> str:
    seen = pair[~np.isnan(pair)]
    if not seen.size:
        return _HIDDEN
    level = int(np.clip(seen.mean(), 0.0, 0.999) * len(_SHADES))
    return _SHADES[level]
