"""`icpe baselines`: the classical explorers."""

import dataclasses

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the classical explorers, their parameters and the families they serve."""

    json: bool = False
    """Print a JSON list, one object per explorer."""
    seed: Seed = 0
    """Not used; accepted by every command."""


def run(args: Args) -> int:
    """Lists the classical explorers."""
    from rich.table import Table

    from icpe.cli.terminal import output, print_json
    from icpe.explorers import explorer_names

    explorers = [explorer_card(name) for name in explorer_names()]
    if args.json:
        print_json(explorers)
        return 0
    console = output()
    for explorer in explorers:
        console.print(f"[bold cyan]{explorer['name']}[/]  {explorer['summary']}")
        table = Table.grid(padding=(0, 2))
        table.add_row("  families", ", ".join(explorer["families"]))
        for parameter in explorer["parameters"]:
            option = f"{explorer['name']}:{parameter['name']}=..."
            table.add_row(f"  {option}", parameter["help"])
        console.print(table)
        console.print()
    return 0


def explorer_card(name: str) -> dict:
    """A registered explorer as JSON-compatible values."""
    from icpe.cli.families import describe_type
    from icpe.explorers import (
        accepted_families,
        explorer_parameters,
        explorer_summary,
    )

    return {
        "name": name,
        "summary": explorer_summary(name),
        "families": list(accepted_families(name)),
        "parameters": [
            {
                "name": parameter,
                "type": describe_type(described.annotation),
                "default": described.default,
                "help": described.help,
            }
            for parameter, described in explorer_parameters(name).items()
        ],
    }
