"""What is too rare to learn from: classes of few rows, words of few rows."""

import collections
import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from icpe.integrations.tables.encoding import MOST_LEVELS
from icpe.integrations.tables.reading import Column

_FEW_ROWS, _SMALL_SHARE = 10, 0.05
_COVERED = 0.5
"""Share of the rows that the most common words have, unless they are names."""


def warn_of_rare_classes(
    labels: Int[np.ndarray, "rows"], classes: Sequence[str]
) -> None:
    """Warns of classes that are too rare to be named."""
    counts = np.bincount(labels, minlength=len(classes))
    for name, count in zip(classes, counts, strict=True):
        if count < _FEW_ROWS and count < _SMALL_SHARE * len(labels):
            warnings.warn(
                f"Class {name!r} has {count} of {len(labels)} rows: it will hardly "
                "ever be named, and a certificate, which is about all classes "
                "together, says little about it.",
                stacklevel=4,
            )


def many_words(columns: Sequence[Column]) -> list[str]:
    """A sentence for each column with so many words that most of them are rare."""
    sentences = []
    for column in columns:
        counts = collections.Counter(it for it in column.words if it is not None)
        if column.numbers is not None or len(counts) <= MOST_LEVELS:
            continue
        kept = sum(count for _, count in counts.most_common(MOST_LEVELS - 1))
        if kept < _COVERED * counts.total():
            sentences.append(
                f"Column {column.name!r} has {len(counts)} different words in "
                f"{counts.total()} rows; the {MOST_LEVELS - 1} most common are answers "
                "of their own, all others together are one. If it names a customer or "
                f"the like, leave it out (--ignore {column.name!r}), or say that rows "
                f"are about it (--subject {column.name!r})."
            )
    return sentences
