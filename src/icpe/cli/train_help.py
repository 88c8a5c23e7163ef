"""`icpe train FAMILY --help`: every setting of the family and of the training."""

import ast
import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any, cast


def print_settings(words: Sequence[str]) -> None:
    """Lists the `--family.x` of the family named, and all `--train.x`."""
    from rich.table import Table

    from icpe.cli.terminal import output
    from icpe.families.registry import family_names, parameter_fields
    from icpe.learn.config import TrainConfig
    from icpe.learn.paper.config import PaperConfig

    named = [word for word in words if word in family_names()]
    paper = "paper" in words
    console = output()
    for name in named[:1]:
        console.print(f"settings of the family {name}")
        table = Table.grid(padding=(0, 2))
        for field in parameter_fields(name).values():
            option = f"  --family.{field.name.replace('_', '-')}"
            table.add_row(option, str(field.default), field.metadata.get("help", ""))
        console.print(table)
        console.print()
    config = PaperConfig if paper else TrainConfig
    console.print("settings of the training; the recipe chooses what is left out")
    table = Table.grid(padding=(0, 2))
    helps = _field_docs(config)
    for field in dataclasses.fields(config):
        if field.name != "seed":
            option = f"  --train.{field.name.replace('_', '-')}"
            table.add_row(option, helps.get(field.name, ""))
    console.print(table)


def _field_docs(config: Any) -> dict[str, str]:
    """The strings below the fields of a dataclass and of its bases."""
    docs: dict[str, str] = {}
    for cls in reversed(config.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        (definition,) = ast.parse(inspect.getsource(cast(Any, cls))).body
        assert isinstance(definition, ast.ClassDef)
        for field, text in zip(definition.body, definition.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(field.target, ast.Name)
                docs[field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return docs
