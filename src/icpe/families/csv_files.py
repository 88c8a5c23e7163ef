"""Small tables from files or data frames: rows of named columns, read with care."""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from icpe.core.checks import is_whole
from icpe.core.csv_text import read_cells
from icpe.core.decoding import composed
from icpe.core.errors import DataError, suggesting
from icpe.portable.decimals import as_number


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of a table by column, and where each stands, for complaints.

    Attributes:
        name: what the table is called in complaints.
        columns: the values of each column, texts stripped of blanks around them.
        places: for each row, such as "line 3".
        decimal: the mark before decimals, where that could be another.
    """

    name: str
    columns: dict[str, list[Any]]
    places: list[str]
    decimal: str = "."

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
            text = isinstance(value, str)
            number = as_number(value, self.decimal) if text else float(value)
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
        word = composed(str(self.columns[column][row])).strip()
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
    given: Any,
    needed: Sequence[str],
    allowed: Sequence[str] = (),
    *,
    what: str,
    also: Mapping[str, str] | None = None,
) -> Table:
    """A table from a CSV file, or from a data frame.

    Columns are separated by commas, semicolons, tabs or vertical bars; their order and
    the case of their names do not matter.

    Args:
        given: path of a file, or a data frame.
        needed: columns that there must be.
        allowed: columns that there may be.
        what: what the table is, in complaints about data frames.
        also: other words for columns.

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
    names = [(also or {}).get(name, name) for name in names]
    _check_columns(names, needed, allowed, table.name)
    columns = dict(zip(names, values, strict=True))
    if not table.places:
        raise DataError(f"{table.name} has no rows; give it some.")
    return dataclasses.replace(table, columns=columns)


def _read_csv(path: Path, needed: Sequence[str]):
    cells = read_cells(path, needed)
    values = [list(column) for column in zip(*cells.rows, strict=True)]
    places = [f"line {line}" for line in cells.lines]
    table = Table(str(path), {}, places, cells.decimal)
    return cells.header, values or [[] for _ in cells.header], table


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
            CSV file or a data frame with columns query and cost; what it leaves out
            costs 1.
        query_names: the names of the queries; empty means their numbers.
        num_queries: how many there are.

    Raises:
        DataError: a cost is not positive, or of a query that does not exist.
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
        if isinstance(name, str) and name not in names:
            name = composed(name)
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
    return tuple(found.get(name, 1.0) for name in names)


def _is_index(query: Any, names: Sequence[str]) -> bool:
    return is_whole(query) and 0 <= query < len(names)
