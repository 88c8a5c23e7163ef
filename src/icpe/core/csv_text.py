"""CSV files as people have them: separators, decimal commas, encodings.

Spreadsheets of half the world write semicolons between values and commas in numbers. So
the separator is found by looking at the rows, and numbers are read by what stands
between values.
"""

import csv
import dataclasses
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from icpe.core.errors import DataError
from icpe.portable.reading import DECIMAL_COMMA, THOUSANDS

_DELIMITERS = ",;\t|"
_LARGEST = 2**28
"""Bytes of a file that are read."""
_NUM_LOOKED_AT = 50
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_FOREIGN = 0.6
"""Share of letters beyond ASCII, in the words of a text that have any."""


@dataclasses.dataclass(frozen=True)
class Cells:
    """The cells of a CSV file, stripped of blanks around them.

    Attributes:
        header: the names of the columns.
        rows: the other lines that are not empty, each as long as the header.
        lines: where each of them stands in the file.
        delimiter: what stands between values.
    """

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    delimiter: str


def read_cells(path: Path, wanted: Sequence[str] = ()) -> Cells:
    """The cells of a file with a header.

    Values are separated by commas, semicolons, tabs or vertical bars.

    Args:
        path: of the file.
        wanted: columns that are looked for, which tells separators apart.

    Raises:
        DataError: the file cannot be read, is empty, or a row has another length.
    """
    text = _text(path)
    delimiter = _delimiter(text, wanted)
    try:
        parsed = _parsed(text, delimiter)
    except csv.Error as error:
        raise DataError(
            f"{path} is not a CSV file that can be read: {error}."
        ) from None
    if not parsed:
        raise DataError(f"{path} is empty; its first line must name the columns.")
    (_, header), *body = parsed
    if len(header) > 1 and not header[-1] and all(not row[-1] for _, row in body):
        # Some programs end every line with a separator.
        header, body = header[:-1], [(line, row[:-1]) for line, row in body]
    for line, row in body:
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {line} has {len(row)} values, and the header "
                f"{len(header)}; give every row a value for each column, and quote "
                f"values with {delimiter!r} in them."
            )
    return Cells(
        header, [row for _, row in body], [line for line, _ in body], delimiter
    )


def read_rows(path: Path) -> Cells:
    """The cells of a file with a header and at least one row.

    A column without a name is called by its place.

    Raises:
        DataError: the file cannot be read, a row has another length, or two columns
            have one name.
    """
    cells = read_cells(path)
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


def as_number(text: str, delimiter: str = ",") -> float:
    """A text as a number: 1234.5, 1,234.5, or 1.234,5 where commas separate nothing.

    Raises:
        ValueError: it is none.
    """
    try:
        return float(text)
    except ValueError:
        if DECIMAL_COMMA.fullmatch(text) and (
            delimiter != "," or not THOUSANDS.fullmatch(text)
        ):
            return float(text.replace(".", "").replace(",", "."))
        if THOUSANDS.fullmatch(text):
            return float(text.replace(",", ""))
        raise


def all_numbers(texts: Sequence[str], delimiter: str = ",") -> list[float] | None:
    """Texts of one column as numbers, None unless all are.

    A column is written in one way: where one number has a decimal comma, points divide
    thousands in all others.
    """
    try:
        if delimiter != "," and any(_has_comma(text) for text in texts):
            return [as_number(_plain(text)) for text in texts]
        return [as_number(text, delimiter) for text in texts]
    except ValueError:
        return None


def _has_comma(text: str) -> bool:
    return DECIMAL_COMMA.fullmatch(text) is not None


def _plain(text: str) -> str:
    """A number with a decimal comma, or without decimals, as Python writes it."""
    if re.fullmatch(r"[+-]?\d{1,3}(\.\d{3})+", text) or _has_comma(text):
        return text.replace(".", "").replace(",", ".")
    return text


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
    try:
        return given.decode("utf-16" if given[:2] in _UTF_16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = _windows_text(given)
    if text is None:
        raise DataError(f"{path} is not text in UTF-8; save it as CSV UTF-8.")
    warnings.warn(
        f"{path} is not text in UTF-8; it is read as Windows-1252, which Excel writes "
        "in Western Europe. If letters look wrong, save it as CSV UTF-8.",
        stacklevel=3,
    )
    return text


def _windows_text(given: bytes) -> str | None:
    """Text in Windows-1252, None if it is probably something else.

    Nearly all bytes are letters in it. Words of Western Europe have some letters beyond
    ASCII; those of another code page, such as a Cyrillic one, have no others.
    """
    try:
        text = given.decode("cp1252")
    except UnicodeDecodeError:
        return None
    if any(it < " " and it not in "\t\r\n\f" for it in text):
        return None
    letters = "".join(it for it in re.findall(r"[^\W\d_]+", text) if not it.isascii())
    foreign = sum(not it.isascii() for it in letters)
    return text if foreign <= _MOST_FOREIGN * len(letters) else None


def _parsed(text: str, delimiter: str, most: int | None = None):
    """Lines that are not empty, with their numbers."""
    lines = text.splitlines(keepends=True)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    found = []
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells):
            found.append((reader.line_num, cells))
        if most is not None and len(found) >= most:
            break
    return found


def _delimiter(text: str, wanted: Sequence[str]) -> str:
    """The one that finds most of what is looked for, then most columns everywhere."""

    def score(delimiter: str) -> tuple[int, bool, int]:
        try:
            rows = [row for _, row in _parsed(text, delimiter, _NUM_LOOKED_AT)]
        except csv.Error:
            return (0, False, 0)
        if not rows:
            return (0, False, 0)
        header = {cell.lower() for cell in rows[0]}
        found = len(header & {name.lower() for name in wanted})
        regular = len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)
        return (found, regular, len(rows[0]))

    return max(_DELIMITERS, key=score)
