"""`icpe baselines`: the classical explorers."""

import dataclasses

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the classical explorers, their parameters and the families they serve."""

    json: bool = False
    """Print a JSON list, one object per explorer."""
    markdown: bool = False
    """Print the documentation page of all of them."""
    seed: Seed = 0
    """Not used; accepted by every command."""


def run(args: Args) -> int:
    """Lists the classical explorers, and then those built on another explorer."""
    from rich.markup import escape
    from rich.table import Table

    from icpe.cli.baselines_page import baselines_page
    from icpe.cli.terminal import output, print_json

    explorers = baseline_cards()
    if args.json:
        print_json(explorers)
        return 0
    if args.markdown:
        print(baselines_page(explorers), end="")
        return 0
    console = output()
    for explorer in explorers:
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
    return 0


def baseline_cards() -> list[dict]:
    """Everything that `icpe baselines` lists, as JSON-compatible values."""
    from icpe.explorers import explorer_names
    from icpe.explorers.wrappers import WRAPPERS

    names = [explorer_card(name) for name in explorer_names()]
    return names + [wrapper_card(name) for name in WRAPPERS]


def explorer_card(name: str) -> dict:
    """A registered explorer as JSON-compatible values."""
    from icpe.cli.families import describe_type
    from icpe.explorers import (
        accepted_families,
        explorer_about,
        explorer_parameters,
        explorer_summary,
    )

    return {
        "name": name,
        "is_wrapper": False,
        "summary": explorer_summary(name),
        "families": list(accepted_families(name)),
        **explorer_about(name)._asdict(),
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


def wrapper_card(name: str) -> dict:
    """An explorer that is built on another one, as JSON-compatible values."""
    from icpe.explorers.wrappers import wrapper_named

    wrapper = wrapper_named(name)
    error_prob = {
        "name": "error_prob",
        "type": "a number",
        "default": 0.1,
        "help": f"asked of EXPLORER, written last: {name}:EXPLORER,error_prob=0.05",
    }
    return {
        "name": name,
        "is_wrapper": True,
        "summary": wrapper.summary,
        "families": list(wrapper.families),
        **wrapper.about._asdict(),
        "parameters": [error_prob] if wrapper.explores else [],
    }
