"""CSV files as people have them: separators, titles, empty columns, encodings.

Spreadsheets of half the world write semicolons between values and commas in numbers. So
the separator is found by looking at the rows.
"""

import csv
import dataclasses
import io
import itertools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from icpe.core.decoding import composed, decoded
from icpe.core.errors import DataError
from icpe.core.number_text import decimal_mark
from icpe.portable.reading import folded

_DELIMITERS = ",;\t|"
_LARGEST = 2**28
"""Bytes of a file that are read."""
_NUM_LOOKED_AT = 50
_MOST_ABOVE = 10
"""Lines above a header, such as a title, in which it is still looked for."""
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
"""The first line of some files that Excel is to open."""

_Lines = list[tuple[int, list[str]]]
"""Cells of lines, and where these end in the file."""


@dataclasses.dataclass(frozen=True)
class Cells:
    """The cells of a CSV file, stripped of blanks around them.

    Attributes:
        header: the names of the columns.
        rows: the other lines that are not empty, each as long as the header.
        lines: where each of them stands in the file.
        decimal: the mark before decimals; see `icpe.portable.decimals.as_number`.
    """

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    decimal: str


def read_cells(path: Path, wanted: Sequence[str] = ()) -> Cells:
    """The cells of a file with a header.

    Values are separated by commas, semicolons, tabs or vertical bars. Columns without a
    name and without values are left out, and so are lines above the header.

    Args:
        path: of the file.
        wanted: columns that are looked for, which tells separators apart, and the
            header from a title above it.

    Raises:
        DataError: the file cannot be read, is empty, or a row has another length.
    """
    text, wanted = _text(path), list(map(one_line, wanted))
    if said := _SEPARATOR.match(text):
        delimiter, text = said[1], "\n" + text[said.end() :]
    else:
        delimiter = _delimiter(text, wanted)
    _check_closed(path, text, delimiter)
    try:
        parsed = _parsed(text, delimiter)
    except csv.Error as error:
        raise DataError(
            f"{path} is not a CSV file that can be read: {error}."
        ) from None
    if not parsed:
        raise DataError(f"{path} is empty; its first line must name the columns.")
    place = _header_place(parsed, wanted)
    if place:
        first = next(filter(None, parsed[0][1]))
        warnings.warn(
            f"{path}: the header is line {parsed[place][0]}; what stands above it, "
            f"such as {first!r}, is not read.",
            stacklevel=2,
        )
    header, lines, rows = _rectangle(path, delimiter, parsed[place:])
    _check_quotes(path, delimiter, len(header), lines, rows)
    header = list(map(one_line, header))
    decimal = decimal_mark(itertools.chain.from_iterable(rows), delimiter)
    return Cells(header, rows, lines, decimal)


def read_rows(path: Path, wanted: Sequence[str] = ()) -> Cells:
    """The cells of a file with a header and at least one row.

    A column without a name is called by its place.

    Args:
        path: of the file.
        wanted: columns that are looked for; see `read_cells`.

    Raises:
        DataError: the file cannot be read, a row has another length, or two columns
            have one name.
    """
    cells = read_cells(path, wanted)
    if not cells.rows:
        raise DataError(f"{path} must have a header and at least one row; it has none.")
    header = [name or f"column {i + 1}" for i, name in enumerate(cells.header)]
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise DataError(
            f"{path} has several columns named {', '.join(sorted(twice))}; give every "
            "column a name of its own."
        )
    return dataclasses.replace(cells, header=header)


def one_line(name: str) -> str:
    """The name of a column as `Cells` has it, which in a file may go over lines."""
    return " ".join(composed(name).split())


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path} is larger than {_LARGEST // 2**20} MiB.")
        given = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    if given.startswith(b"PK\x03\x04"):
        raise DataError(
            f"{path} is a spreadsheet or an archive, not text; save the sheet as CSV "
            "(UTF-8)."
        )
    if holds_tensors(given):
        raise DataError(f"{path} is an icpe file, not a table.")
    return decoded(given, path, remedy="save it as CSV UTF-8")


def holds_tensors(first: bytes) -> bool:
    """Whether bytes begin as those of a trained explorer do: a size, and JSON."""
    return first[4:9] == b"\0\0\0\0{"


def _parsed(text: str, delimiter: str, most: int | None = None) -> _Lines:
    """Lines that are not empty, with their numbers."""
    reader, found = _reader(text, delimiter), []
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells):
            found.append((reader.line_num, cells))
        if most is not None and len(found) >= most:
            break
    return found


def _check_closed(path: Path, text: str, delimiter: str) -> None:
    """Refuses a quote that is never closed, which would hide the rest of the rows."""
    reader = _reader(text, delimiter, strict=True)
    begun, problem = 0, ""
    try:
        for _ in reader:
            begun = reader.line_num
    except csv.Error as error:  # what else is odd with quotes is read as it stands
        problem = str(error)
    if "unexpected end of data" in problem:
        raise DataError(
            f"{path}: a value in line {begun + 1} begins with a quote that is never "
            "closed; close it, or leave it out."
        )


def _reader(text: str, delimiter: str, *, strict: bool = False):
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)


def _rectangle(
    path: Path, delimiter: str, parsed: _Lines
) -> tuple[list[str], list[int], list[list[str]]]:
    """The header, the numbers of the rows, and the rows, all of one length."""
    (_, header), *body = parsed
    lines, rows = [], []
    for line, row in body:
        if len(row) > len(header) and not any(row[len(header) :]):
            row = row[: len(header)]  # some programs end lines with a separator
        if len(row) != len(header):
            values = "1 value" if len(row) == 1 else f"{len(row)} values"
            raise DataError(
                f"{path}, line {line} has {values}, and the header {len(header)}; give "
                "every row a value for each column, and quote values with "
                f"{delimiter!r} in them."
            )
        lines.append(line)
        rows.append(row)
    kept = [i for i, it in enumerate(header) if it or any(row[i] for row in rows)]
    if len(kept) < len(header):
        header = [header[i] for i in kept]
        rows = [[row[i] for i in kept] for row in rows]
    return header, lines, rows


def _check_quotes(
    path: Path,
    delimiter: str,
    width: int,
    lines: Sequence[int],
    rows: Sequence[Sequence[str]],
) -> None:
    """Warns of a value that is probably several rows between two stray quotes."""
    for line, row in zip(lines, rows, strict=True):
        for cell in row:
            if "\n" not in cell:
                continue
            first, *between, last = (it.count(delimiter) for it in cell.split("\n"))
            if {first + last, *between} == {width - 1}:
                warnings.warn(
                    f"{path}: a value that ends in line {line} goes over "
                    f"{2 + len(between)} lines, which look like rows; if they are, "
                    "leave out the quote before them.",
                    stacklevel=3,
                )
                return


def _header_place(parsed: _Lines, wanted: Sequence[str]) -> int:
    """The place of the first line with all that is looked for; 0 if there is none.

    What stands above it must be mostly empty, or the line may be a row that happens to
    have such values.
    """
    sought, most = {folded(name) for name in wanted}, 0
    for place, (_, row) in enumerate(parsed[: _MOST_ABOVE + 1]):
        filled = sum(map(bool, row))
        if sought <= set(map(folded, row)) and 2 * most <= filled:
            return place
        most = max(most, filled)
    return 0


def _delimiter(text: str, wanted: Sequence[str]) -> str:
    """The one that finds most of what is looked for, then most columns everywhere."""

    def score(delimiter: str) -> tuple[int, bool, int]:
        try:
            parsed = _parsed(text, delimiter, _NUM_LOOKED_AT)
        except csv.Error:
            return (0, False, 0)
        rows = [row for _, row in parsed[_header_place(parsed, wanted) :]]
        if not rows:
            return (0, False, 0)
        found = len(set(map(folded, rows[0])) & set(map(folded, wanted)))
        regular = len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)
        return (found, regular, len(rows[0]))

    return max(_DELIMITERS, key=score)
