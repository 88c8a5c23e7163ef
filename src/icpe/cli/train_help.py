"""`icpe train FAMILY --help`: every setting of the family and of the training."""

from collections.abc import Sequence

from icpe.cli import catalog


def print_settings(words: Sequence[str]) -> None:
    """Lists the `--family.x` of the family named, and all `--train.x`."""
    from rich.markup import escape
    from rich.table import Table

    from icpe.cli.terminal import output

    console = output()
    for name in [word for word in words if word in catalog.family_names()][:1]:
        console.print(f"settings of the family {name}")
        table = Table.grid(padding=(0, 2))
        for parameter in catalog.family_card(name)["parameters"]:
            option = f"  --family.{parameter['name'].replace('_', '-')}"
            default = escape(str(parameter["default"]))
            table.add_row(option, default, escape(parameter["help"]))
        console.print(table)
        console.print()
    learner = "paper" if "paper" in words else "universal"
    console.print("settings of the training; the recipe chooses what is left out")
    table = Table.grid(padding=(0, 2))
    for setting in catalog.learner_settings(learner):
        option = f"  --train.{setting['name'].replace('_', '-')}"
        table.add_row(option, escape(setting["help"]))
    console.print(table)
