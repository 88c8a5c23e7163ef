"""Rows as columns of numbers or of words, wherever they come from."""

import collections
import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from icpe.core.csv_text import Cells, one_line, read_rows
from icpe.core.errors import (
    DataError,
    InvalidParameterError,
    UnknownNameError,
    missing_extra,
    suggesting,
)
from icpe.core.number_text import decimal_mark
from icpe.families.table.columns import MISSING, as_word, is_missing
from icpe.integrations.tables.spelling import one_spelling
from icpe.integrations.tables.strings import say_read, texts_of
from icpe.integrations.tables.units import read_numbers

_LARGEST = -MISSING


@dataclasses.dataclass(frozen=True)
class Column:
    """One feature of all rows: numbers, NaN where not known, or words, then None.

    `marks` says how its numbers are written; see `icpe.core.number_text.marks_of`.
    `texts` has words of new rows so that numbers of Python have one reading.
    """

    name: str
    numbers: Float[np.ndarray, "rows"] | None
    words: tuple[str | None, ...] = ()
    unit: str = ""
    marks: str = ""
    texts: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.words) if self.numbers is None else len(self.numbers)

    def rows(self, chosen: np.ndarray) -> "Column":
        """The same column, of some rows alone."""
        if self.numbers is not None:
            return dataclasses.replace(self, numbers=self.numbers[chosen])
        return Column(self.name, None, tuple(self.words[i] for i in chosen))


def columns_of(
    rows: Any, names: Sequence[str] | None = None, *, strings: bool = False
) -> list[Column]:
    """The columns of an array with two axes, or of a data frame.

    Args:
        rows: a numpy array, or a data frame that narwhals knows, such as those of
            pandas and polars.
        names: what the columns are called, for an array; x0, x1, .. if None.
        strings: whether strings are read by the rules of a file, with warnings, so
            that they may be numbers; else they are words.

    Raises:
        InvalidParameterError: a column has infinite numbers, or what is neither number
            nor word.
    """
    if not isinstance(rows, np.ndarray) and (frame := _frame(rows)) is not None:
        found = [
            (str(series.name), series.to_list(), _kind(series))
            for series in frame.iter_columns()
        ]
        return _columns(found, strings)
    array = np.asarray(rows)
    names = [f"x{i}" for i in range(array.shape[1])] if names is None else names
    if array.dtype.kind in "biuf":
        return [
            _numbers(str(name), values.astype(np.float64))
            for name, values in zip(names, array.T, strict=True)
        ]
    pairs = zip(names, array.T, strict=True)
    found = [(str(name), values.tolist(), None) for name, values in pairs]
    return _columns(found, strings)


def is_frame(rows: Any) -> bool:
    """Whether it is a data frame."""
    return not isinstance(rows, np.ndarray) and _frame(rows) is not None


def read_csv(path: Path, target: str) -> tuple[list[Column], list[str]]:
    """The features and the classes of a CSV file with a header.

    A column is one of numbers if all that is known are numbers, with or without one
    unit. Rows without a class are left out. Warns of all that was not taken as it
    stands there.

    Raises:
        DataError: the file cannot be read, or is no such table.
        UnknownNameError: it has no column of that name.
    """
    cells, place = rows_with_class(path, target)
    columns, unknown = [], collections.Counter()
    for index, name in enumerate(cells.header):
        if index == place:
            continue
        words = [None if is_missing(row[index]) else row[index] for row in cells.rows]
        unknown.update(row[index] for row in cells.rows if is_missing(row[index]))
        columns.append(_text_column(name, words, cells.decimal, unknown))
    _say_unknown(unknown)
    classes = _one_spelling(target, [row[place] for row in cells.rows])
    return columns, [str(it) for it in classes]


def read_words(path: Path, target: str, name: str) -> list[str]:
    """One column of a CSV file as it is written there, of the rows with a class."""
    cells, _ = rows_with_class(path, target)
    place = cells.header.index(one_line(name))
    return [row[place] for row in cells.rows]


def rows_with_class(path: Path, target: str) -> tuple[Cells, int]:
    """The rows of a CSV file that have a class, and the column that says which.

    Raises:
        DataError: the file cannot be read, or no row has a class.
        UnknownNameError: it has no column of that name.
    """
    cells = read_rows(path, (target,))
    target = one_line(target)
    if target not in cells.header:
        raise UnknownNameError(
            suggesting(
                f"--target {target!r} is no column of {path}",
                target,
                cells.header,
                f"it has {', '.join(cells.header)}.",
            )
        )
    place = cells.header.index(target)
    gone = [i for i, row in enumerate(cells.rows) if is_missing(row[place])]
    if len(gone) == len(cells.rows):
        raise DataError(f"{path} has no row with a class in column {target!r}.")
    if not gone:
        return cells, place
    words = sorted({cells.rows[i][place] for i in gone})
    what = " or ".join(repr(word) if word else "empty" for word in words)
    verbs = "has no class and is" if len(gone) == 1 else "have no class and are"
    other = "; if that is a class, call it something else" if any(words) else ""
    warnings.warn(
        f"{len(gone)} of {len(cells.rows)} rows {verbs} left out: "
        f"{target!r} is {what}, first in line {cells.lines[gone[0]]}"
        f"{other}.",
        stacklevel=3,
    )
    kept = sorted(set(range(len(cells.rows))) - set(gone))
    rows, lines = [cells.rows[i] for i in kept], [cells.lines[i] for i in kept]
    return dataclasses.replace(cells, rows=rows, lines=lines), place


def _text_column(
    name: str,
    words: list[str | None],
    decimal: str,
    unknown: collections.Counter[str],
    otherwise: Column | None = None,
) -> Column:
    """A column of numbers, or of words: `otherwise`, if that is given."""
    found = read_numbers(name, words, decimal)
    unknown.update(found.unknown)
    if found.remark:
        warnings.warn(found.remark, stacklevel=3)
    if found.values is None:
        words = words if otherwise is None else list(otherwise.words)
        return Column(name, None, tuple(_one_spelling(name, words)))
    column = _numbers(name, found.values)
    return dataclasses.replace(column, unit=found.unit, marks=found.marks)


def _one_spelling(name: str, words: Sequence[str | None]) -> list[str | None]:
    words, sentence = one_spelling(name, words)
    if sentence is not None:
        warnings.warn(sentence, stacklevel=4)
    return words


def _say_unknown(unknown: collections.Counter[str]) -> None:
    words = [(word, count) for word, count in unknown.most_common() if word]
    if words:
        shown = ", ".join(f"{word!r} ({count})" for word, count in words[:8])
        warnings.warn(
            f"Read as not known, beside empty cells: {shown}. If one of these is an "
            "answer, write it in other words.",
            stacklevel=3,
        )


def _frame(rows: Any):
    """The data frame, None if it is none; arrays need no narwhals."""
    if isinstance(rows, list | tuple) or hasattr(rows, "__array_interface__"):
        return None
    try:
        import narwhals as nw
    except ImportError as error:
        raise missing_extra("Data frames need narwhals", "tables") from error
    try:
        return nw.from_native(rows, eager_only=True)
    except TypeError:
        return None


def _kind(series) -> str | None:
    """What a column of a data frame says it is."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return "numbers"
    if dtype in (nw.Categorical, nw.Enum, nw.Boolean):
        return "categories"
    if dtype.is_temporal():
        raise InvalidParameterError(
            f"Column {series.name!r} has dates or times; turn them into numbers, such "
            "as days since something, or leave the column out."
        )
    return None


def _column(name: str, values: list[Any], kind: str | None) -> Column:
    """A column of numbers if it says so, or if all that is known is a number."""
    known = [value for value in values if not is_missing(value)]
    for value in known:
        if not isinstance(value, str | bool | np.bool_ | int | float | np.number):
            raise TypeError(
                f"Column {name!r}: argument must be a string or a real number, not "
                f"{type(value).__name__!r}."
            )
    texts = all(isinstance(value, str) for value in known)
    truths = any(isinstance(value, bool | np.bool_) for value in known)
    if kind is None and known and not texts and not truths:
        kind = "numbers" if all(map(_is_number, known)) else None
    if kind == "numbers" or not known:
        numbers = [np.nan if is_missing(it) else float(it) for it in values]
        return _numbers(name, np.array(numbers, np.float64))
    words = (None if is_missing(value) else as_word(value) for value in values)
    return Column(name, None, tuple(words))


def _columns(
    found: Sequence[tuple[str, list[Any], str | None]], strings: bool
) -> list[Column]:
    columns = [_column(*it) for it in found]
    texts = {
        place: words
        for place, (_, values, kind) in enumerate(found)
        if columns[place].numbers is None
        and kind is None
        and (words := texts_of(values)) is not None
    }
    if not strings:
        for place, words in texts.items():
            columns[place] = dataclasses.replace(columns[place], texts=tuple(words))
        return columns
    known = [word for words in texts.values() for word in words if word is not None]
    decimal, unknown = decimal_mark(known, ","), collections.Counter()
    for place, words in texts.items():
        column = columns[place]
        columns[place] = _text_column(column.name, words, decimal, unknown, column)
    say_read([columns[place].name for place in texts if _has_numbers(columns[place])])
    _say_unknown(unknown)
    return columns


def _has_numbers(column: Column) -> bool:
    return column.numbers is not None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _numbers(name: str, values: np.ndarray) -> Column:
    if np.any(np.abs(values) >= _LARGEST):
        raise InvalidParameterError(
            f"Column {name!r} contains infinity or a value too large; give numbers "
            f"below {_LARGEST:g}, and leave out what is not known (NaN)."
        )
    known = values[~np.isnan(values)]
    # Python writes a point before decimals, and nothing between thousands.
    return Column(name, values, marks="." if np.any(known != np.floor(known)) else "")
