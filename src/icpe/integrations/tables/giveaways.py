"""Columns that give the class away: often they are filled in once it is known."""

import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from icpe.integrations.tables.encoding import Feature

_FEWEST_ROWS = 20
"""Of fewer rows nothing is said; chance would say it."""
_WORDS, _NUMBERS = 0.9, 0.95
"""Share of rows told right from which words and numbers are suspect: a measurement can
be that good, a word hardly."""
_FEWER_ERRORS = 1 / 3
"""Of the errors of whoever always names the most common class, at most so many."""


def share_told(
    cells: Int[np.ndarray, "rows"], labels: Int[np.ndarray, "rows"]
) -> tuple[float, float, int]:
    """How often a feature alone tells the class of a row, of those where it is known.

    Every row is told by the others in its cell, so that cells of one row tell nothing.

    Returns:
        That share, the share of the most common class, and the number of rows.
    """
    known = cells > 0
    cells, labels = cells[known], labels[known]
    if not len(labels):
        return 0.0, 1.0, 0
    table = np.zeros((cells.max() + 1, labels.max() + 2), int)
    np.add.at(table, (cells, labels), 1)
    second, first = np.sort(table, axis=1)[:, -2:].T
    right = first[(first >= 2) & (first > second)].sum()
    return right / len(labels), table.sum(axis=0).max() / len(labels), len(labels)


def warn_of_giveaways(
    features: Sequence[Feature],
    cells: Int[np.ndarray, "rows features"],
    labels: Int[np.ndarray, "rows"],
) -> None:
    """Warns of features that alone tell the class of nearly every row."""
    for index, feature in enumerate(features):
        told, most, number = share_told(cells[:, index], labels)
        enough = _NUMBERS if feature.is_ordered else _WORDS
        if number < _FEWEST_ROWS or told < enough:
            continue
        if 1 - told <= _FEWER_ERRORS * (1 - most):
            warnings.warn(
                f"Column {feature.name!r} alone tells the class of {100 * told:.3g} % "
                f"of the {number} rows where it is known. If it is filled in once the "
                f"class is known, leave it out (--ignore {feature.name!r}).",
                stacklevel=4,
            )
