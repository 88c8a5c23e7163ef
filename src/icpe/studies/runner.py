"""Run the cells of a study that have no result yet, one JSON file each.

`icpe study run` calls this; it is also a program of its own that needs nothing but the
package's core: `python -m icpe.studies.runner NAME --out FOLDER`.
"""

import argparse
import dataclasses
import fnmatch
import functools as ft
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from icpe.core.engine import AbstractEngine, LocalEngine
from icpe.core.errors import IcpeError, InvalidParameterError, UnknownNameError
from icpe.core.files import check_folder, replacing
from icpe.core.progress import AbstractProgress, LineProgress
from icpe.learn.recipe import Machine
from icpe.studies.durations import parse_duration
from icpe.studies.jobs import Place, run_cells, sharing_models
from icpe.studies.study import Cell, Study

MODELS = "models"
"""Folder, beside those of the studies, for trained explorers."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which cells to run.

    Attributes:
        patterns: names, or patterns such as "K=8/*"; all if empty.
        seeds: training seeds; all if empty. Cells without a seed are always in.
    """

    patterns: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    def of(self, study: Study) -> tuple[Cell, ...]:
        """The chosen cells.

        Raises:
            UnknownNameError: a pattern fits no cell.
        """
        for pattern in self.patterns:
            if not fnmatch.filter([cell.name for cell in study.cells], pattern):
                raise UnknownNameError(
                    f"--cells {pattern!r} fits no cell of {study.name!r}; its cells "
                    f"are named like {study.cells[0].name!r} and "
                    f"{study.cells[-1].name!r}, and * fits anything."
                )
        return tuple(cell for cell in study.cells if self._fits(cell))

    def _fits(self, cell: Cell) -> bool:
        named = not self.patterns or any(
            fnmatch.fnmatchcase(cell.name, pattern) for pattern in self.patterns
        )
        return named and (not self.seeds or cell.seed in (None, *self.seeds))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run came to, as names of cells; failures with their sentence."""

    done: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    left: tuple[str, ...]


def run_study(
    study: Study,
    out: Path,
    *,
    selection: Selection | None = None,
    also: Path | None = None,
    time_limit: float = math.inf,
    machine: Machine | None = None,
    progress: AbstractProgress | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    engine: AbstractEngine | None = None,
) -> Outcome:
    """Runs the chosen cells that have no result yet, one after the other.

    Each result is written, whole, as soon as it is there, so that whatever ends the run
    costs at most the cell in flight; of a training a checkpoint is kept. A cell that
    fails is reported and the others go on. With an engine many run at a time, those
    that share a trained explorer together; results are written here all the same.

    Args:
        study: the study.
        out: folder of the results; trained explorers go to its folder `models`.
        selection: which cells.
        also: another folder whose results count as done.
        time_limit: seconds after which no cell begins and a training stops.
        machine: whose presets are used in training; chosen by the device if None.
        progress: notified of trainings and evaluations that run here.
        say: is told a sentence about every cell.
        engine: where cells are run; here if None.

    Raises:
        UnknownNameError: the selection fits no cell.
        InvalidParameterError: results cannot be written to the folder.
        DataError: a result that is already there is damaged.
    """
    cells = (selection or Selection()).of(study)
    folders = [folder for folder in (out, also) if folder]
    known = [any(study.record(it, folder) for folder in folders) for it in cells]
    skipped = [
        cell.name for cell, is_known in zip(cells, known, strict=True) if is_known
    ]
    todo = [cell for cell, is_known in zip(cells, known, strict=True) if not is_known]
    if todo:
        _check_out(out)
    jobs: list[tuple[Cell, ...]] = [(cell,) for cell in todo]
    place = Place(
        study.name, out.absolute() / MODELS, machine, time.time() + time_limit
    )
    work = ft.partial(run_cells, place, progress=progress, say=say)
    if engine is not None:
        jobs, work = sharing_models(todo), ft.partial(run_cells, place)
    done, failed, left = [], [], []
    for number, ended in (engine or LocalEngine()).run(work, jobs):
        for cell, came in zip(jobs[number], ended, strict=True):
            if came.record is not None:
                _write(study, cell, out, came.record)
                done.append(cell.name)
            elif came.failure is not None:
                failed.append((cell.name, came.failure))
            else:
                left.append(cell.name)
            count = len(done) + len(failed) + len(left)
            say(f"{study.name} {count}/{len(todo)} {cell.name}{came.sentence}")
    return Outcome(tuple(done), tuple(skipped), tuple(failed), tuple(left))


def _check_out(out: Path) -> None:
    """Finds out before a cell begins what would go wrong after it."""
    try:
        check_folder(out)
    except OSError as error:
        raise InvalidParameterError(
            f"--out {out} cannot hold results: {error}; choose another folder."
        ) from error


def _write(study: Study, cell: Cell, out: Path, record: dict[str, Any]) -> None:
    path = study.path(cell, out)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(record, allow_nan=False) + "\n")


def summary(outcome: Outcome) -> str:
    """What a run came to, in one sentence."""
    parts = [f"{len(outcome.done)} done", f"{len(outcome.skipped)} were done before"]
    if outcome.left:
        parts.append(f"{len(outcome.left)} left for another run")
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} failed")
    return f"Cells: {', '.join(parts)}."


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """The program `python -m icpe.studies.runner`; see `--help`."""
    from icpe.studies.catalog import make_study, study_names

    parser = argparse.ArgumentParser(
        prog="python -m icpe.studies.runner",
        description="Run the cells of a study that have no result yet.",
    )
    parser.add_argument("name", help=f"one of {', '.join(study_names())}, or all")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder")
    parser.add_argument("--also", type=Path, help="results there count as done")
    parser.add_argument("--cells", nargs="*", default=(), help='such as "K=8/*"')
    parser.add_argument("--seeds", nargs="*", type=int, default=(), help="such as 0 1")
    parser.add_argument("--time-limit", default="inf", help="such as 90s, 9m or 1h")
    parser.add_argument(
        "--preset", choices=("cpu", "gpu"), help="by the hardware by default"
    )
    parser.add_argument("--sizes", choices=("full", "tiny"), default="full")
    args = parser.parse_args(argv)
    names = study_names() if args.name == "all" else (args.name,)
    failed = False
    try:
        deadline = time.monotonic() + parse_duration(args.time_limit)
        for name in names:
            outcome = run_study(
                make_study(name, args.sizes),
                args.out,
                selection=Selection(tuple(args.cells), tuple(args.seeds)),
                also=args.also,
                time_limit=deadline - time.monotonic(),
                machine=args.preset,
                progress=LineProgress(_say, seconds=15.0),
                say=_say,
            )
            failed |= bool(outcome.failed)
            print(f"{name}. {summary(outcome)}", flush=True)
    except IcpeError as error:
        print(f"icpe: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "icpe: Interrupted; run the same command again to continue.",
            file=sys.stderr,
        )
        return 130
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
