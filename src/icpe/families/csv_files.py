"""Small tables from files or data frames: rows of named columns, read with care."""

import csv
import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from icpe.core.checks import is_whole
from icpe.core.errors import DataError, suggesting

_DELIMITERS = ",;\t"
_LARGEST = 2**28
"""Bytes of a file that are read."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of a table by column, and where each stands, for complaints.

    Attributes:
        name: what the table is called in complaints.
        columns: the values of each column, texts stripped of blanks around them.
        places: for each row, such as "line 3".
    """

    name: str
    columns: dict[str, list[Any]]
    places: list[str]

    def __len__(self) -> int:
        return len(self.places)

    def where(self, row: int) -> str:
        """The place of a row, with the name of the table."""
        return f"{self.name}, {self.places[row]}"

    def number(self, column: str, row: int) -> float:
        """A value as a number.

        Raises:
            DataError: it is none.
        """
        value = self.columns[column][row]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not abs(number) < float("inf"):
            raise DataError(
                f"{self.where(row)}: {column} must be a number; got {value!r}."
            )
        return number

    def word(self, column: str, row: int) -> str:
        """A value as a text that is not empty.

        Raises:
            DataError: it is empty.
        """
        word = str(self.columns[column][row]).strip()
        if not word:
            raise DataError(f"{self.where(row)}: {column} is empty; give it a name.")
        return word


def is_path(given: Any) -> bool:
    """Whether something names a file."""
    return isinstance(given, str | os.PathLike)


def is_frame(given: Any) -> bool:
    """Whether something is a data frame, of pandas or polars."""
    return hasattr(given, "columns") and hasattr(given, "__getitem__")


def read_table(
    given: Any, needed: Sequence[str], allowed: Sequence[str] = (), *, what: str
) -> Table:
    """A table from a CSV file, or from a data frame.

    Columns are separated by commas, semicolons or tabs; their order and the case of
    their names do not matter.

    Args:
        given: path of a file, or a data frame.
        needed: columns that there must be.
        allowed: columns that there may be.
        what: what the table is, in complaints about data frames.

    Raises:
        DataError: the file cannot be read, or its columns are others.
    """
    if is_frame(given):
        names = [str(name) for name in given.columns]
        values = [list(given[name]) for name in given.columns]
        table = Table(what, {}, [f"row {i}" for i in range(len(values[0]))])
    else:
        names, values, table = _read_csv(Path(given), needed)
    names = [name.strip().lower() for name in names]
    _check_columns(names, needed, allowed, table.name)
    columns = dict(zip(names, values, strict=True))
    if not table.places:
        raise DataError(f"{table.name} has no rows; give it some.")
    return dataclasses.replace(table, columns=columns)


def _read_csv(path: Path, needed: Sequence[str]):
    lines = _lines(path)
    delimiter = _delimiter(lines[0] if lines else "", needed)
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error as error:
        raise DataError(
            f"{path} is not a CSV file that can be read: {error}."
        ) from None
    if not any(rows):
        raise DataError(f"{path} is empty; its first line must name the columns.")
    header = [cell.strip() for cell in rows[0]]
    body, places = [], []
    for number, row in enumerate(rows[1:], start=2):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{path}, line {number} has {len(cells)} entries, but the first line "
                f"names {len(header)} columns; quote entries with {delimiter!r}."
            )
        body.append(cells)
        places.append(f"line {number}")
    values = [list(column) for column in zip(*body, strict=True)]
    return header, values or [[] for _ in header], Table(str(path), {}, places)


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path} is larger than {_LARGEST // 2**20} MiB.")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8; save it as CSV UTF-8.") from None
    return text.splitlines()


def _delimiter(header: str, needed: Sequence[str]) -> str:
    """The one that finds most of the columns needed."""

    def found(delimiter: str) -> int:
        cells = {cell.strip().strip('"').lower() for cell in header.split(delimiter)}
        return len(cells & set(needed))

    return max(_DELIMITERS, key=found)


def _check_columns(
    names: Sequence[str], needed: Sequence[str], allowed: Sequence[str], table: str
) -> None:
    known = (*needed, *allowed)
    for name in names:
        if name not in known:
            raise DataError(
                suggesting(
                    f"{table} has a column {name!r}",
                    name,
                    known,
                    f"its columns must be {_and(needed)}{_maybe(allowed)}.",
                )
            )
    for name in needed:
        if name not in names:
            raise DataError(
                f"{table} has no column {name!r}; its columns must be "
                f"{_and(needed)}{_maybe(allowed)}."
            )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"{table} has two columns {twice[0]!r}; keep one of them.")


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _maybe(allowed: Sequence[str]) -> str:
    return f" and may be {_and(allowed)}" if allowed else ""


def read_costs(
    costs: Any, query_names: Sequence[str], *, num_queries: int
) -> tuple[float, ...]:
    """The cost of each query: of a mapping, a sequence, or a CSV of query and cost.

    Args:
        costs: by name or number in a mapping, in order in a sequence, or the path of a
            CSV file or a data frame with columns query and cost; None means 1 each.
        query_names: the names of the queries; empty means their numbers.
        num_queries: how many there are.

    Raises:
        DataError: a cost is missing, not positive, or of a query that does not exist.
    """
    if costs is None:
        return ()
    if is_path(costs) or is_frame(costs):
        table = read_table(costs, ("query", "cost"), what="costs")
        rows = range(len(table))
        name = table.name
        given = [(table.word("query", i), table.number("cost", i)) for i in rows]
    elif isinstance(costs, Mapping):
        name, given = "costs", list(costs.items())
    else:
        name, given = "costs", list(enumerate(costs))
        if len(given) != num_queries:
            raise DataError(
                f"costs must be {num_queries} numbers, one for each query; got "
                f"{len(given)}."
            )
    return _in_order(given, query_names or tuple(map(str, range(num_queries))), name)


def _in_order(
    given: Iterable[tuple[Any, Any]], names: Sequence[str], what: str
) -> tuple[float, ...]:
    found: dict[str, float] = {}
    for query, cost in given:
        name: Any = names[query] if _is_index(query, names) else query
        if name not in names:
            raise DataError(
                suggesting(
                    f"{what} names the query {query!r}, which does not exist",
                    str(query),
                    names,
                )
            )
        if name in found:
            raise DataError(f"{what} gives two costs of {name!r}; keep one of them.")
        try:
            found[name] = float(cost)
        except (TypeError, ValueError):
            found[name] = float("nan")
        if not 0.0 < found[name] < float("inf"):
            raise DataError(
                f"{what}: the cost of {name!r} must be a positive number; got {cost!r}."
            )
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(
            f"{what} has no cost of {missing[0]!r}; give one for each query."
        )
    return tuple(found[name] for name in names)


def _is_index(query: Any, names: Sequence[str]) -> bool:
    return is_whole(query) and 0 <= query < len(names)
