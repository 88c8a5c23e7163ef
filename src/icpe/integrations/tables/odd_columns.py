"""Columns of a file that no question should be made of."""

import datetime
import re
from collections.abc import Sequence

import numpy as np

from icpe.integrations.tables.reading import Column

_FEWEST_ROWS = 20
"""Of fewer rows nothing is said; chance would say it."""
_NEARLY_ALL = 0.9
_BY_CHANCE = 1e-6
"""Probability of no repeat below which whole numbers were dealt out, not measured."""
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d{1,2}:\d{2}.*)?")


def sort_out(columns: Sequence[Column]) -> tuple[list[Column], list[str]]:
    """The columns worth a question, and a sentence for each of the others.

    Left out are dates, words that are different in nearly every row, and numbers that
    count the rows, with gaps or without: such a column names a case and is no finding.
    """
    kept, sentences = [], []
    for column in columns:
        why = _why_left_out(column)
        if why:
            sentences.append(f"Column {column.name!r} {why}, and is left out.")
        else:
            kept.append(column)
    return kept, sentences


def _why_left_out(column: Column) -> str:
    if column.numbers is not None:
        return "counts the rows" if _counts_rows(column.numbers) else ""
    known = [word for word in column.words if word is not None]
    if known and all(map(_is_date, known)):
        return (
            "has dates, which are to be turned into a number such as days since "
            "something"
        )
    if len(known) >= _FEWEST_ROWS and len(set(known)) >= _NEARLY_ALL * len(known):
        return "has a different word in nearly every row"
    return ""


def _counts_rows(numbers: np.ndarray) -> bool:
    """Whether whole numbers are all different where measured ones would repeat.

    Among n of S possible values, however probable each is, the probability of no
    repeat is at most (1 - 1/S) (1 - 2/S) .. (1 - (n - 1)/S).
    """
    known = numbers[~np.isnan(numbers)]
    if len(known) < max(_FEWEST_ROWS, _NEARLY_ALL * len(numbers)):
        return False
    if np.any(known != np.floor(known)) or len(np.unique(known)) < len(known):
        return False
    values = known.max() - known.min() + 1
    chance = np.exp(np.log1p(-np.arange(len(known)) / values).sum())
    return bool(chance < _BY_CHANCE)


def _is_date(word: str) -> bool:
    if _DATE.fullmatch(word):
        return True
    try:
        datetime.datetime.fromisoformat(word)
    except ValueError:
        return False
    return not word.isdigit()
