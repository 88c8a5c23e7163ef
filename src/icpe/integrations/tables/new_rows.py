"""New rows of a table, as cases that its explorer can be tried on."""

import collections
import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp

from icpe.core.csv_text import one_line
from icpe.core.errors import (
    DataError,
    InvalidOutcomeError,
    UnsupportedError,
    suggesting,
)
from icpe.core.family import AbstractTaskFamily
from icpe.families.table.columns import TableAnswers, as_word
from icpe.families.table.law import Case, CaseTable
from icpe.integrations.tables.reading import rows_with_class
from icpe.portable.reading import position


@dataclasses.dataclass(frozen=True)
class NewRows:
    """Cases that were read from a file.

    Attributes:
        cases: the rows that have a class, cut into cells as the table was.
        strange: how many of them no row of the table is like, so that a session about
            them may lose its certificate.
        strange_in: how many of these there are by feature.
    """

    cases: Case
    strange: int
    strange_in: dict[str, int]


def table_of(family: AbstractTaskFamily) -> CaseTable:
    """The family as one that was made from a table.

    Raises:
        UnsupportedError: it was made from something else.
    """
    if isinstance(family, CaseTable):
        return family
    raise UnsupportedError(
        "--rows is for explorers made by icpe train-table; leave it out."
    )


def read_new_rows(path: Path, target: str, family: CaseTable) -> NewRows:
    """The rows of a file with the same columns, in any order.

    They are read by the rules of the table: its words, units and decimal marks. Other
    columns are not looked at.

    Raises:
        DataError: a column is missing, or a cell or class is none of the table's.
        UnknownNameError: there is no column `target`.
    """
    cells, place = rows_with_class(path, target)
    names = [one_line(name) for name in family.features]
    for name in names:
        if name not in cells.header:
            listing = f"it has {', '.join(cells.header)}."
            complaint = f"{path} has no column {name!r}, which the explorer asks for"
            raise DataError(suggesting(complaint, name, cells.header, listing))
    places = [cells.header.index(name) for name in names]
    each = _one_by_one(family)
    labels, values, strange = [], [], 0
    strange_in: collections.Counter[str] = collections.Counter()
    for row, line in zip(cells.rows, cells.lines, strict=True):
        label = position(as_word(row[place]), family.classes)
        if label < 0:
            listing = f"the explorer knows {', '.join(family.classes)}."
            complaint = f"line {line} of {path}: there is no class {row[place]!r}"
            raise DataError(
                suggesting(complaint, row[place], list(family.classes), listing)
            )
        labels.append(label)
        try:
            read = [each.read(i, row[at])[0] for i, at in enumerate(places)]
        except InvalidOutcomeError as error:
            raise DataError(f"line {line} of {path}: {error}") from None
        own = [n for i, n in enumerate(names) if each.why_strange(i, [read[i]])]
        strange_in.update(own)
        strange += bool(own)
        values.append(read)
    features = jnp.arange(len(names))
    found = jax.vmap(lambda row: family.cells_of(features, row))(
        jnp.asarray(values, jnp.float32)
    )
    case = Case(jnp.asarray(labels, jnp.int32), found)
    return NewRows(case, strange, dict(strange_in.most_common()))


def _one_by_one(family: CaseTable) -> TableAnswers:
    """Reads every feature by itself, whatever is measured together."""
    cells = family.answers().cells
    alone = dataclasses.replace(
        cells, groups=tuple((i,) for i in range(len(family.features))), size=1
    )
    return TableAnswers(**dataclasses.asdict(alone))


def target_column(found: str | None, asked: str | None) -> str:
    """The column with the classes: what was asked for, or what the file was made with.

    Raises:
        DataError: neither is known.
    """
    target = asked or found
    if target is None:
        raise DataError(
            "The file does not say which column has the classes; name it by --target "
            "COLUMN."
        )
    return target
