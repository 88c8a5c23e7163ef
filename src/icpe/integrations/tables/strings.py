"""Columns of strings in data frames and arrays, read as those of a file are."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from icpe.portable.cells import as_word, is_missing, typed_measurement
from icpe.portable.decimals import may_be_two


def texts_of(values: Sequence[Any]) -> list[str | None] | None:
    """The values as a file would have them, None unless strings are among them.

    Truth values are words, so a column that has any is none of numbers.
    """
    if any(isinstance(value, bool | np.bool_) for value in values):
        return None
    if not any(isinstance(value, str) for value in values):
        return None
    return [None if is_missing(value) else _written(value) for value in values]


def say_read(names: Sequence[str]) -> None:
    """Warns that columns of strings were taken as numbers."""
    if not names:
        return
    shown = ", ".join(map(repr, names[:8])) + (" .." if len(names) > 8 else "")
    what = "Column" if len(names) == 1 else "Columns"
    verb = "is" if len(names) == 1 else "are"
    warnings.warn(
        f"{what} {shown} of strings {verb} read as numbers; make a column categorical "
        "if its strings are words.",
        stacklevel=4,
    )


def read_like(
    name: str, words: Sequence[str | None], unit: str, marks: str
) -> Float[np.ndarray, "rows"]:
    """Strings as numbers of a column that is known; NaN where they are none.

    Args:
        name: of the column, for a warning of those that are none.
        words: None where not known.
        unit: of the column, empty if it has none.
        marks: of the column; see `icpe.portable.decimals.as_in_column`.
    """
    values, strange = np.full(len(words), np.nan), []
    for place, word in enumerate(words):
        if word is None:
            continue
        try:
            values[place] = typed_measurement(word, unit, marks)
        except ValueError:
            strange.append(word)
    if strange:
        what = f"numbers in {unit}" if unit else "numbers"
        warnings.warn(
            f"Column {name!r} has {len(strange)} of {len(words)} values that are not "
            f"{what} with one reading, such as {strange[0]!r}; they are taken as not "
            "known.",
            stacklevel=5,
        )
    return values


def _written(value: Any) -> str:
    """A value as a file would have it; a number of Python so that it is only one."""
    text = value.strip() if isinstance(value, str) else as_word(value)
    return f"{text}0" if not isinstance(value, str) and may_be_two(text) else text
