"""Values of features as cells: cell 0 is not known, the others are what is."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from icpe.families.table.columns import MISSING, OTHER, as_word
from icpe.integrations.tables.reading import Column
from icpe.integrations.tables.strings import read_like
from icpe.portable.reading import position

MOST_CELLS = 10
"""Cells of numbers; more of them tell little that rows so few can show."""
MOST_LEVELS = 16
"""Words that are cells of their own, the last for all that are rare."""


@dataclasses.dataclass(frozen=True)
class Feature:
    """How a column is cut into cells.

    Attributes:
        name: of the column.
        levels: what it can be, if it has words; empty for numbers.
        edges: what divides its cells.
        values: a typical value of each cell from 1 on.
        unit: of its numbers, or empty.
        marks: how its numbers are written; see `icpe.core.number_text.marks_of`.
        range: the smallest and largest of them; empty for words.
    """

    name: str
    levels: tuple[str, ...]
    edges: Float[np.ndarray, "edges"]
    values: Float[np.ndarray, "values"]
    unit: str = ""
    marks: str = ""
    range: tuple[float, ...] = ()

    @property
    def num_cells(self) -> int:
        """How many cells it has, less that of what is not known."""
        return len(self.values)

    @property
    def is_ordered(self) -> bool:
        """Whether neighboring cells are alike."""
        return not self.levels

    def cells(self, column: Column) -> Int[np.ndarray, "rows"]:
        """The cells of a column; words that were never seen are not known."""
        if not self.levels:
            numbers = column.numbers
            if numbers is None:
                texts = column.texts or column.words
                numbers = read_like(self.name, texts, self.unit, self.marks)
            numbers = numbers.astype(np.float32)
            cells = 1 + (numbers[:, None] > self.edges).sum(axis=1)
            return np.where(np.isnan(numbers), 0, cells)
        words = column.words
        if column.numbers is not None:
            words = [None if np.isnan(it) else as_word(it) for it in column.numbers]
        place = {level: 1 + i for i, level in enumerate(self.levels)}
        rest = place.get(OTHER, 0)
        for word in {it for it in words if it is not None} - place.keys():
            known = position(word, self.levels)  # in other capitals, perhaps
            place[word] = rest if known < 0 else 1 + known
        cells = [0 if it is None else place[it] for it in words]
        return np.array(cells, np.int64)


def make_feature(column: Column) -> Feature:
    """The cells of a column: quantiles of numbers, or the most common words."""
    if column.numbers is None:
        return _of_words(column)
    numbers = column.numbers.astype(np.float32)
    written = column.unit, column.marks
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    if len(distinct) <= MOST_CELLS:
        edges = (distinct[1:] + distinct[:-1]) / 2
        edges = edges.astype(np.float32)
        return Feature(column.name, (), edges, distinct, *written)
    shares = np.arange(1, MOST_CELLS) / MOST_CELLS
    edges = np.unique(np.quantile(known, shares).astype(np.float32))
    edges = edges[edges < distinct[-1]]
    cells = (known[:, None] > edges).sum(axis=1)
    # A quantile between two values may leave nothing between itself and the lower one.
    edges = edges[np.unique(cells)[1:] - 1]
    cells = (known[:, None] > edges).sum(axis=1)
    values = [np.median(known[cells == cell]) for cell in range(len(edges) + 1)]
    return Feature(column.name, (), edges, np.array(values, np.float32), *written)


def range_of(column: Column) -> tuple[float, ...]:
    """The smallest and the largest number of a column; nothing for words."""
    if column.numbers is None or np.isnan(column.numbers).all():
        return ()
    return float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))


def _of_words(column: Column) -> Feature:
    known = [word for word in column.words if word is not None]
    words, counts = np.unique(known, return_counts=True)
    levels = [str(word) for word in words[np.argsort(-counts, kind="stable")]]
    if len(levels) > MOST_LEVELS:
        levels = [*levels[: MOST_LEVELS - 1], OTHER]
    codes = np.arange(1, len(levels) + 1, dtype=np.float32)
    return Feature(column.name, tuple(levels), codes[:-1] + 0.5, codes)


def padded_edges(features: list[Feature]) -> Float[np.ndarray, "features edges"]:
    """The edges of all features, with infinity where there are fewer."""
    width = max(1, *(len(it.edges) for it in features))
    rows = [np.pad(it.edges, (0, width - len(it.edges))) for it in features]
    for row, it in zip(rows, features, strict=True):
        row[len(it.edges) :] = np.inf
    return np.stack(rows)


def padded_values(features: list[Feature]) -> Float[np.ndarray, "features cells"]:
    """A typical value of every cell, that of what is not known first."""
    width = max(it.num_cells for it in features)
    rows = [
        np.concatenate(
            [[MISSING], np.pad(it.values, (0, width - it.num_cells), "edge")]
        )
        for it in features
    ]
    return np.stack(rows)
