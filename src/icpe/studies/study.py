"""What a study is: named cells, each a measurement that can be repeated alone."""

import abc
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from icpe.core.errors import DataError
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.plots import Figure
from icpe.evaluate.report import family_record
from icpe.studies.models import Bench
from icpe.studies.tables import Table

Size = Literal["full", "tiny"]
"""`full` is the study; `tiny` has all its parts, too small for meaningful results."""

Record = Mapping[str, Any]


class AbstractMeasure(abc.ABC):
    """A measurement as a frozen dataclass: its fields say all that it depends on."""

    @abc.abstractmethod
    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Measures, and gives JSON-compatible values.

        Args:
            bench: trains or finds the explorers that it needs.
            seed: seed of the episodes; equal seeds mean equal tasks.
        """


@dataclasses.dataclass(frozen=True)
class Cell:
    """One measurement of a study.

    Attributes:
        row: what is asked about, such as "K=8".
        method: who answers, such as "ours" or the name of a baseline.
        measure: how.
        seed: training seed of "ours" and what is built on it; None where nothing is
            trained.
    """

    row: str
    method: str
    measure: AbstractMeasure
    seed: int | None = None

    @property
    def name(self) -> str:
        """Row, method and seed in one word, unique within a study."""
        seed = "" if self.seed is None else f"/seed={self.seed}"
        return f"{self.row}/{self.method}{seed}"

    @property
    def file_name(self) -> str:
        """The name of its result."""
        return re.sub(r"[^\w.=-]+", "-", self.name.replace("/", "--")) + ".json"

    def configuration(self) -> dict[str, Any]:
        """All that the result depends on, as JSON-compatible values."""
        return plain(self)

    @property
    def key(self) -> str:
        """Changes when the configuration does, and only then."""
        text = json.dumps(self.configuration(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Results:
    """What has been measured of a study so far.

    Attributes:
        cells: all cells of the study.
        records: the whole records of those that were run, by the name of the cell.
        notes: remarks by people, by row; under "study", about all of it.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        records: Mapping[str, Record],
        notes: Mapping[str, str] | None = None,
    ):
        self.cells = tuple(cells)
        self.records = dict(records)
        self.notes = dict(notes or {})

    def of(self, row: str, method: str) -> list[Record]:
        """The results of a row and method, one for each seed that was run."""
        return [
            self.records[cell.name]["result"]
            for cell in self.cells
            if (cell.row, cell.method) == (row, method) and cell.name in self.records
        ]

    def first(self, row: str, method: str) -> Record | None:
        """The result of the first seed that was run, None if none was."""
        found = self.of(row, method)
        return found[0] if found else None

    @property
    def remark(self) -> str:
        """What people remark about the study as a whole, empty if nothing."""
        return self.notes.get("study", "")

    @property
    def rows(self) -> list[str]:
        """The rows of the study, in order."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def missing(self) -> tuple[Cell, ...]:
        """The cells that were not run, or with another configuration."""
        return tuple(cell for cell in self.cells if cell.name not in self.records)


@dataclasses.dataclass(frozen=True)
class Study:
    """An experiment: its cells, and what is made of their results.

    Attributes:
        name: words joined by hyphens.
        title: for people.
        summary: what is asked, and where the paper shows it.
        cells: the measurements, in the order in which they are run.
        tables: from the results to tables.
        figures: from the results to figures by name; empty where nothing was run.
    """

    name: str
    title: str
    summary: str
    cells: tuple[Cell, ...]
    tables: Callable[[Results], list[Table]]
    figures: Callable[[Results], dict[str, Figure]] = lambda results: {}

    def results(self, folder: Path) -> Results:
        """Reads what has been measured of this study.

        A record of another configuration does not count. Remarks are read from the
        file `notes.json` in the same folder, by study and row; those under "study" are
        about all of it.

        Raises:
            DataError: a file is damaged.
        """
        notes_file = folder / "notes.json"
        notes = read_json(notes_file) if notes_file.exists() else {}
        found = {cell.name: self.record(cell, folder) for cell in self.cells}
        records = {name: record for name, record in found.items() if record}
        return Results(self.cells, records, notes.get(self.name, {}))

    def record(self, cell: Cell, folder: Path) -> Record | None:
        """The record of a cell, None if there is none of this configuration."""
        path = self.path(cell, folder)
        if not path.exists():
            return None
        record = read_json(path)
        return record if record.get("key") == cell.key else None

    def path(self, cell: Cell, folder: Path) -> Path:
        """Where the record of a cell is kept."""
        return folder / self.name / cell.file_name


def entry(found: Record | None, name: str) -> Any:
    """A value of a result; None if it was not run, or has none of that name."""
    return None if found is None else found.get(name)


def read_json(path: Path) -> dict[str, Any]:
    """Reads one JSON object.

    Raises:
        DataError: the file is damaged.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} is damaged ({error}); remove it, and run its cell again."
        ) from error
    if not isinstance(found, dict):
        raise DataError(f"{path} is not a JSON object; remove it and run it again.")
    return found


def plain(value: Any) -> Any:
    """The value as JSON-compatible values; families by name, dataclasses by kind.

    Fields of dataclasses at their default are left out, so that an option that is
    added later does not outdate results.
    """
    if isinstance(value, AbstractTaskFamily):
        return family_record(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {f.name: (getattr(value, f.name), f) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__} | {
            name: plain(entry)
            for name, (entry, field) in given.items()
            if entry != field.default
        }
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    return value
