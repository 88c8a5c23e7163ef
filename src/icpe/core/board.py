"""A board: how an episode looks where it happens on a grid, such as a map."""

import dataclasses
from typing import Literal

from icpe.core.errors import InvalidParameterError

CellKind = Literal["plain", "seen", "here", "good", "bad", "mark", "wall"]
"""How a cell looks; `words` of a cell says what it means."""


@dataclasses.dataclass(frozen=True)
class BoardCell:
    """One cell of a board that is not plain.

    Attributes:
        row: counted from the top, from 0.
        column: counted from the left, from 0.
        kind: how it looks.
        text: a few characters to write into it.
        words: what it means, for people who do not see it.
        query: the query that is about this cell, None if none is.
    """

    row: int
    column: int
    kind: CellKind = "plain"
    text: str = ""
    words: str = ""
    query: int | None = None


@dataclasses.dataclass(frozen=True)
class Board:
    """A grid of cells, and perhaps the way that was taken across it.

    Attributes:
        rows: how many rows there are.
        columns: how many columns there are.
        cells: all that are more than plain, at most one for each place.
        path: row and column of the places that were passed, first to last.
        caption: what the board shows, in one sentence.

    Raises:
        InvalidParameterError: it has no cells, or a place lies outside.
    """

    rows: int
    columns: int
    cells: tuple[BoardCell, ...] = ()
    path: tuple[tuple[int, int], ...] = ()
    caption: str = ""

    def __post_init__(self):
        if self.rows < 1 or self.columns < 1:
            raise InvalidParameterError(
                "Board.rows and Board.columns must be at least 1; got "
                f"{self.rows} and {self.columns}."
            )
        places = [(cell.row, cell.column) for cell in self.cells]
        for row, column in (*places, *self.path):
            if not (0 <= row < self.rows and 0 <= column < self.columns):
                raise InvalidParameterError(
                    f"Board.cells and Board.path must lie within {self.rows} rows and "
                    f"{self.columns} columns, counted from 0; got ({row}, {column})."
                )
        if len(set(places)) < len(places):
            raise InvalidParameterError(
                "Board.cells must have at most one cell for each place."
            )
