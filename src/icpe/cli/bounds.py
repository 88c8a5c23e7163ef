"""`icpe bounds`: what is known about the optimum of a family."""

import dataclasses
from typing import Annotated

import tyro

from icpe.cli.options import Seed, Settings


@dataclasses.dataclass(frozen=True)
class Args:
    """Print what is known about the optimum of a family.

    mean_queries and max_queries belong to the best explorer that never errs, where
    they are known exactly.
    """

    family: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FAMILY")]
    """The family; set its parameter x by --family.x VALUE."""
    error_prob: Annotated[
        float | None, tyro.conf.arg(metavar="P", help_behavior_hint="")
    ] = None
    """Error probability, for bounds that depend on it."""
    json: bool = False
    """Print one line of JSON."""
    seed: Seed = 0
    """Seed, for bounds that are averaged over tasks."""
    settings: Settings = dataclasses.field(default_factory=dict)


def run(args: Args) -> int:
    """Prints the bounds."""
    from rich.table import Table

    from icpe.cli.families import build_family
    from icpe.cli.options import check_seed
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, print_json
    from icpe.evaluate.limits import is_every_task, limits
    from icpe.evaluate.report import family_record
    from icpe.families.registry import describe

    check_seed(args.seed)
    family = build_family(args.family, args.settings)
    keep_compiled_programs()
    known = limits(family, args.error_prob, seed=args.seed)
    if args.json:
        record = {"family": family_record(family), "error_prob": args.error_prob}
        print_json(record | known)
        return 0
    console = output()
    console.print(f"[bold]{describe(family)}[/]")
    table = Table.grid(padding=(0, 2))
    for name, value in known.items():
        if not is_every_task(name):
            table.add_row(*_shown(name, value))
    console.print(table)
    others = [
        (name, value)
        for name, value in known.items()
        if is_every_task(name)
        and not (value is None and name.endswith("standard_error"))
    ]
    if others:
        console.print(
            "\nFor methods that are correct on every task, on average over tasks; an "
            "explorer that knows the prior may need fewer queries:"
        )
        table = Table.grid(padding=(0, 2))
        for name, value in others:
            table.add_row(*_shown(name, value, absent="infinite"))
        console.print(table)
    return 0


def _shown(
    name: str, value: float | int | None, absent: str = "not known"
) -> tuple[str, str]:
    return name.replace("_", " "), absent if value is None else f"{value:.6g}"
