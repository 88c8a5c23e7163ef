"""`icpe tasks`: the families and their parameters."""

import dataclasses
from typing import Annotated

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the families of tasks, or one of them with its parameters.

    With NAME also the explorers that can play it.
    """

    name: Annotated[
        tyro.conf.Positional[str | None],
        tyro.conf.arg(metavar="[NAME]", help_behavior_hint=""),
    ] = None
    """Only this one; FILE.py:CLASS names one of your own."""
    json: bool = False
    """Print a JSON list, one object per family."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe tasks",
    "icpe tasks gaussian-bandit",
)


def run(args: Args) -> int:
    """Lists the families."""
    from icpe.cli import catalog
    from icpe.cli.families import known_name
    from icpe.cli.terminal import output, print_json

    name = None if args.name is None else known_name(args.name)
    families = catalog.family_cards() if name is None else [catalog.family_card(name)]
    if args.json:
        print_json(families)
        return 0
    console = output()
    for family in families:
        _print_family(console, family)
    if name is not None:
        _print_players(console, name)
    return 0


def _print_family(console, family: dict) -> None:
    from rich.markup import escape
    from rich.table import Table

    console.print(f"[bold cyan]{family['name']}[/]  {escape(family['summary'])}")
    table = Table.grid(padding=(0, 2))
    for parameter in family["parameters"]:
        option = f"--family.{parameter['name'].replace('_', '-')}"
        default = escape(str(parameter["default"]))
        table.add_row(f"  {option}", default, f"[dim]{escape(parameter['help'])}[/]")
    console.print(table)
    console.print()


def _print_players(console, name: str) -> None:
    """Who plays a family: of the zoo, and of the baselines."""
    from icpe import zoo
    from icpe.cli import catalog

    trained = [it for it in zoo.names() if zoo.card(it).family["name"] == name]
    baselines = [
        card["name"] + (":EXPLORER" if card["is_wrapper"] else "")
        for card in catalog.explorer_cards()
        if name in card["families"]
    ]
    for title, names in (("zoo", trained), ("baselines", baselines)):
        listed = ", ".join(names) or "none"
        console.print(f"[bold]{title}[/]  {listed}", soft_wrap=True)
