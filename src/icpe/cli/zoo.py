"""`icpe zoo`: the trained explorers that come with icpe."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the explorers that come with icpe: what they explore and what they serve.

    Each has a name that every command takes in place of a file. The error probability
    shown is certified; `icpe show NAME` prints all that is known about one.
    """

    name: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="[NAME]", help_behavior_hint=""),
    ] = None
    """Only this one."""
    out: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Copy it to FILE, to fine-tune it or to certify something else."""
    overwrite: bool = False
    """Replace FILE if it is there already, with its certificates."""
    json: bool = False
    """Print a JSON list, one object per explorer."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe zoo",
    "icpe zoo binary-search-8 --out mine.safetensors",
)


def run(args: Args) -> int:
    """Lists or copies."""
    from icpe import zoo
    from icpe.cli.terminal import output, print_json

    names = zoo.names() if args.name is None else (args.name,)
    cards = [zoo.card(name) for name in names]
    if args.out is not None:
        _copy(args.name, args.out, overwrite=args.overwrite)
        told = sys.stderr if args.json else sys.stdout
        print(f"{args.name} copied to {args.out}", file=told)
    if args.json:
        print_json([card.to_dict() for card in cards])
    else:
        _print_cards(output(), cards)
    return 0


def _copy(name: str | None, out: Path, *, overwrite: bool) -> None:
    import shutil

    from icpe import zoo
    from icpe.cli.artifact_files import check_out
    from icpe.core.errors import InvalidParameterError
    from icpe.core.files import replacing
    from icpe.core.locks import locked

    if name is None:
        raise InvalidParameterError(
            "--out needs the NAME of the explorer to copy; choose one of "
            f"{', '.join(zoo.names())}."
        )
    check_out(out, overwrite=True)
    with locked(out, "icpe zoo"):
        check_out(out, overwrite=overwrite)
        with replacing(out) as temporary:
            shutil.copyfile(zoo.path(name), temporary)


def _print_cards(console, cards) -> None:
    from rich.table import Table

    table = Table(box=None)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("family", no_wrap=True)
    headings = ("certified", "down to", "budgets")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for card in cards:
        table.add_row(
            card.name,
            card.family["name"],
            f"{card.certified_error_prob:g}",
            f"{card.smallest_error_prob:g}",
            f"1-{card.largest_budget}",
        )
    console.print(table)
    console.print(
        "[dim]certified: the error probability it is certified for; down to: the "
        "smallest it serves; icpe show NAME says more[/]",
        soft_wrap=True,
    )
