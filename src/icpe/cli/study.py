"""`icpe study`: the experiments of the paper, cell by cell."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from icpe.cli import catalog
from icpe.cli.engines import check_address
from icpe.cli.options import Where
from icpe.core import signals
from icpe.core.errors import InvalidParameterError, UnknownNameError
from icpe.studies.durations import parse_duration


@dataclasses.dataclass(frozen=True)
class Args:
    """Run the experiments of the paper, and report what they gave.

    `icpe study list` names them. `icpe study run NAME` measures the cells that have no
    result yet, one file each; if it is interrupted, the same command continues. `icpe
    study report NAME` makes tables, figures and a page of the results.
    """

    action: Annotated[
        tyro.conf.Positional[Literal["list", "run", "report"]],
        tyro.conf.arg(metavar="list|run|report"),
    ]
    """What to do."""
    name: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="NAME", help_behavior_hint=""),
    ] = None
    """The study, or all; list takes it, too."""
    cells: Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="PATTERN ...", help_behavior_hint="")
    ] = ()
    """run: only cells with these names; * fits anything, as in "K=8/*"."""
    seeds: Annotated[
        tuple[int, ...], tyro.conf.arg(metavar="N ...", help_behavior_hint="")
    ] = ()
    """run: only these training seeds; cells without training are always in."""
    time_limit: Annotated[
        str | None, tyro.conf.arg(metavar="TIME", help_behavior_hint="")
    ] = None
    """run: begin no cell after this time (90, 90s, 9m or 1h).
    A training stops with a checkpoint."""
    preset: Annotated[
        Literal["cpu", "gpu"] | None,
        tyro.conf.arg(metavar="cpu|gpu", help_behavior_hint=""),
    ] = None
    """run: settings of trainings; by the hardware if left out."""
    where: tyro.conf.OmitArgPrefixes[Where] = dataclasses.field(default_factory=Where)
    cpus: Annotated[float, tyro.conf.arg(metavar="N")] = 1.0
    """run, ray: CPUs that a cell holds."""
    gpus: Annotated[float, tyro.conf.arg(metavar="N")] = 0.0
    """run, ray: GPUs that a cell holds; 0.25 lets four share one."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """Where results are kept."""
    also: Annotated[
        Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")
    ] = None
    """run: cells with results in this folder count as done."""
    to: Annotated[
        Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")
    ] = None
    """report: where the report goes; reports/NAME among the results if left out."""
    sizes: Annotated[Literal["full", "tiny"], tyro.conf.arg(metavar="full|tiny")] = (
        "full"
    )
    """tiny: all parts in minutes, too small for meaningful results."""
    json: bool = False
    """Print one line of JSON."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = (
        None
    )
    """Ignored here; accepted by every command. Cells have their own seeds: --seeds."""


EXAMPLES = (
    "icpe study list",
    "icpe study run binary-search --sizes tiny --time-limit 9m",
)


def run(args: Args) -> int:
    """Lists, runs or reports."""
    if args.name not in (None, "all"):
        catalog.check_study(args.name)
    if args.action == "list":
        return _list(args)
    if args.name is None:
        raise InvalidParameterError(
            f"The name of the study is missing; write icpe study {args.action} NAME "
            f"with one of {', '.join(catalog.study_names())}, or all."
        )
    parse_duration(args.time_limit or "inf")
    check_address(args.where.engine, args.where.address)
    if args.out.is_file():
        raise InvalidParameterError(
            f"--out {args.out} cannot hold results: it is a file, not a folder."
        )
    from icpe.studies.catalog import make_study, study_names

    names = study_names() if args.name == "all" else (args.name,)
    studies = [make_study(name, args.sizes) for name in names]
    return _run(args, studies) if args.action == "run" else _report(args, studies)


def _list(args: Args) -> int:
    from rich.table import Table

    from icpe.cli.terminal import output, print_json
    from icpe.studies.catalog import make_study, study_names

    names = study_names() if args.name in (None, "all") else (args.name,)
    studies = [make_study(name, args.sizes) for name in names]
    counts = [len(study.results(args.out).records) for study in studies]
    if args.json:
        print_json(
            [
                {
                    "name": study.name,
                    "title": study.title,
                    "cells": [cell.name for cell in study.cells],
                    "run": count,
                }
                for study, count in zip(studies, counts, strict=True)
            ]
        )
        return 0
    table = Table(box=None, header_style="bold")
    for heading in ("study", "cells", "run", "what it is about"):
        right = heading in ("cells", "run")
        table.add_column(heading, justify="right" if right else "left")
    for study, count in zip(studies, counts, strict=True):
        table.add_row(study.name, str(len(study.cells)), str(count), study.title)
    output().print(table)
    output().print(f"[dim]run: cells with a result in {args.out}[/]", soft_wrap=True)
    return 0


def _run(args: Args, studies) -> int:
    import time

    from icpe.cli.engines import make_engine
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import print_json, progress_meter
    from icpe.studies.runner import Selection, run_study, summary

    _check_seeds(args, studies)
    if args.seed is not None:
        print(
            f"icpe: --seed {args.seed} is not used, since cells have seeds of their "
            "own; --seeds chooses among them.",
            file=sys.stderr,
        )
    deadline = time.monotonic() + parse_duration(args.time_limit or "inf")
    keep_compiled_programs()
    engine = make_engine(
        args.where.engine, args.where.address, cpus=args.cpus, gpus=args.gpus
    )
    outcomes = {}
    try:
        for study in studies:
            outcomes[study.name] = run_study(
                study,
                args.out,
                selection=Selection(args.cells, args.seeds),
                also=args.also,
                time_limit=deadline - time.monotonic(),
                machine=args.preset,
                progress=progress_meter(),
                say=lambda sentence: print(sentence, file=sys.stderr, flush=True),
                engine=engine,
            )
    except KeyboardInterrupt:
        print(
            "icpe: Interrupted; run the same command again to continue.",
            file=sys.stderr,
        )
        return signals.exit_status()
    if args.json:
        print_json({name: dataclasses.asdict(one) for name, one in outcomes.items()})
    else:
        for name, outcome in outcomes.items():
            print(f"{name}. {summary(outcome)}")
    return int(any(outcome.failed for outcome in outcomes.values()))


def _check_seeds(args: Args, studies) -> None:
    cells = [cell for study in studies for cell in study.cells]
    trained = {cell.seed for cell in cells if cell.seed is not None}
    for seed in args.seeds:
        if seed not in trained:
            raise UnknownNameError(
                f"--seeds {seed} fits no cell; the training seeds are "
                f"{', '.join(map(str, sorted(trained))) or 'none'}."
            )


def _report(args: Args, studies) -> int:
    from icpe.cli.terminal import print_json
    from icpe.studies.report import write_report

    if not any(study.results(args.out).records for study in studies):
        cells = sum(len(study.cells) for study in studies)
        other = _other_sizes(args, studies)
        raise UnknownNameError(
            f"{args.out} has no result of {' or '.join(it.name for it in studies)}: 0 "
            f"of {cells} cells have results; "
            + (
                f"did you mean --sizes {other}, which has some?"
                if other
                else "run some cells, or name another folder by --out "
                "(docs/data/results in a checkout of icpe)."
            )
        )
    for study in studies:
        _say_how_many(args, study)
    files = []
    for study in studies:
        base = args.out / "reports" if args.to is None else args.to
        folder = (
            base if args.to is not None and len(studies) == 1 else base / study.name
        )
        files += write_report(study, study.results(args.out), folder)
    if args.json:
        print_json({"files": [str(path) for path in files]})
    else:
        for path in files:
            print(path)
    return 0


def _say_how_many(args: Args, study) -> None:
    """Says on stderr how much of a study a report is made of, where cells lack."""
    count = len(study.results(args.out).records)
    if count == len(study.cells):
        return
    other = _other_sizes(args, [study])
    hint = f" Did you mean --sizes {other}, which has more?" if other else ""
    print(
        f"icpe: {study.name}: {count} of {len(study.cells)} cells have results.{hint}",
        file=sys.stderr,
    )


def _other_sizes(args: Args, studies) -> str | None:
    """The other sizes, if the folder has more results of these."""
    from icpe.studies.catalog import make_study
    from icpe.studies.study import Size

    other: Size = "full" if args.sizes == "tiny" else "tiny"

    def count(sizes: Size) -> int:
        made = (make_study(study.name, sizes) for study in studies)
        return sum(len(one.results(args.out).records) for one in made)

    return other if count(other) > count(args.sizes) else None
