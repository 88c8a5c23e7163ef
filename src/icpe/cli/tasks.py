"""`icpe tasks`: the families and their parameters."""

import dataclasses

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the families of tasks and their parameters."""

    json: bool = False
    """Print a JSON list, one object per family."""
    seed: Seed = 0
    """Not used; accepted by every command."""


def run(args: Args) -> int:
    """Lists the families."""
    from rich.table import Table

    from icpe.cli.terminal import output, print_json
    from icpe.families.registry import family_names

    families = [family_card(name) for name in family_names()]
    if args.json:
        print_json(families)
        return 0
    console = output()
    for family in families:
        console.print(f"[bold cyan]{family['name']}[/]  {family['summary']}")
        table = Table.grid(padding=(0, 2))
        for parameter in family["parameters"]:
            option = f"--family.{parameter['name'].replace('_', '-')}"
            default = str(parameter["default"])
            table.add_row("  " + option, default, f"[dim]{parameter['help']}[/]")
        console.print(table)
        console.print()
    return 0


def family_card(name: str) -> dict:
    """A registered family as JSON-compatible values."""
    import inspect
    import typing

    from icpe.cli.families import describe_type
    from icpe.families.registry import get_factory, parameter_fields

    factory = get_factory(name)
    hints = typing.get_type_hints(factory)
    return {
        "name": name,
        "summary": (inspect.getdoc(factory) or "").split("\n")[0],
        "parameters": [
            {
                "name": field.name,
                "type": describe_type(hints[field.name]),
                "default": field.default,
                "help": field.metadata.get("help", ""),
            }
            for field in parameter_fields(name).values()
        ],
    }
