"""`icpe baselines`: the classical explorers."""

import dataclasses
from typing import Annotated

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the classical explorers, their parameters and the families they serve."""

    name: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="[NAME]", help_behavior_hint=""),
    ] = None
    """Only this one."""
    json: bool = False
    """Print a JSON list, one object per explorer."""
    markdown: bool = False
    """Print the documentation page of all of them."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe baselines",
    "icpe baselines track-and-stop",
)


def run(args: Args) -> int:
    """Lists the classical explorers, and then those built on another explorer."""
    from icpe.cli import catalog
    from icpe.cli.baselines_page import baselines_page
    from icpe.cli.terminal import output, print_json

    if args.name is None:
        explorers = catalog.explorer_cards()
    else:
        explorers = [catalog.explorer_card(args.name)]
    if args.json:
        print_json(explorers)
    elif args.markdown:
        print(baselines_page(catalog.explorer_cards()), end="")
    else:
        console = output()
        for explorer in explorers:
            _print_explorer(console, explorer)
    return 0


def _print_explorer(console, explorer: dict) -> None:
    from rich.markup import escape
    from rich.table import Table

    title = explorer["name"] + (":EXPLORER" if explorer["is_wrapper"] else "")
    console.print(f"[bold cyan]{title}[/]  {escape(explorer['summary'])}")
    table = Table.grid(padding=(0, 2))
    table.add_row("  families", ", ".join(explorer["families"]))
    table.add_row("  serves", explorer["serves"])
    for row in ("reference", "guarantee"):
        if explorer[row]:
            table.add_row(f"  {row}", escape(explorer[row]))
    for parameter in explorer["parameters"]:
        option = f"{explorer['name']}:{parameter['name']}=..."
        table.add_row(f"  {option}", escape(parameter["help"]))
    console.print(table)
    console.print()
