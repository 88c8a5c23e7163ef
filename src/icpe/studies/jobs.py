"""Cells that are run together, here or on another machine, and what came of each."""

import dataclasses
import datetime
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from icpe.artifact import provenance
from icpe.core.errors import IcpeError
from icpe.core.progress import AbstractProgress
from icpe.learn.recipe import Machine
from icpe.studies.models import Bench, Model, OutOfTimeError
from icpe.studies.study import Cell


@dataclasses.dataclass(frozen=True)
class Place:
    """Where cells are run, and until when.

    Attributes:
        study: name of their study.
        models: folder of trained explorers; machines that share it share these too.
        machine: whose presets are used in training; chosen by the device if None.
        until: when no cell begins and a training stops, by `time.time`.
    """

    study: str
    models: Path
    machine: Machine | None
    until: float


@dataclasses.dataclass(frozen=True)
class Came:
    """What came of a cell: a record, or why it failed; neither if time was up.

    The sentence is what is said behind the name of the cell.
    """

    sentence: str
    record: dict[str, Any] | None = None
    failure: str | None = None


def run_cells(
    place: Place,
    cells: Sequence[Cell],
    *,
    progress: AbstractProgress | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Came]:
    """Runs cells one after the other; one that fails does not cost the others."""
    deadline = time.monotonic() + (place.until - time.time())
    bench = Bench(place.models, place.machine, deadline, progress)
    ended = []
    for cell in cells:
        if time.time() >= place.until:
            ended.append(Came(": left for another run"))
            continue
        say(f"{place.study} {cell.name} ...")
        ended.append(_run(place.study, cell, bench))
    return ended


def _run(study: str, cell: Cell, bench: Bench) -> Came:
    start = time.monotonic()
    try:
        result = cell.measure.run(bench, cell.seed or 0)
    except OutOfTimeError as error:
        return Came(f": {error}")
    except Exception as error:
        failure = _sentence(error)
        return Came(f" failed: {failure}", failure=failure)
    seconds = time.monotonic() - start
    record = {
        "study": study,
        "cell": cell.name,
        "key": cell.key,
        "configuration": cell.configuration(),
        "seeds": {"training": cell.seed, "episodes": cell.seed or 0},
        "result": result,
        **provenance(python=platform.python_version(), numpy=np.__version__),
        "seconds": round(seconds, 1),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    return Came(f": done in {seconds:.1f} s", record=record)


def _sentence(error: Exception) -> str:
    if isinstance(error, IcpeError):
        return str(error)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def sharing_models(cells: Sequence[Cell]) -> list[tuple[Cell, ...]]:
    """The cells in groups, so that no two groups need the same trained explorer."""
    groups: list[tuple[set[str], list[Cell]]] = []
    for cell in cells:
        needed, members = _models(cell.measure), [cell]
        for other in [it for it in groups if it[0] & needed]:
            groups.remove(other)
            needed, members = other[0] | needed, other[1] + members
        groups.append((needed, members))
    return [tuple(members) for _, members in groups]


def _models(thing: Any) -> set[str]:
    """Names of the files of all trained explorers that a measure is about."""
    if isinstance(thing, Model):
        seeds = {thing.seed, *thing.seeds}
        return {dataclasses.replace(thing, seed=seed).file_name for seed in seeds}
    if isinstance(thing, tuple | list):
        return set().union(*map(_models, thing))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = dataclasses.fields(thing)
        return set().union(*(_models(getattr(thing, it.name)) for it in fields))
    return set()
