"""`icpe.portable` as one file, to be copied to where models are used."""

import ast
from pathlib import Path

from icpe import portable
from icpe.core.files import replacing

_MODULES = (
    "errors",
    "episode",
    "numbers",
    "reading",
    "decimals",
    "cells",
    "noise",
    "units",
    "requests",
    "files",
    "guard",
    "model",
    "session",
)
"""In an order in which each needs only those before it."""


def write_runner(path: str | Path) -> None:
    """Writes the runner of exported explorers as one file."""
    with replacing(Path(path)) as temporary:
        temporary.write_text(runner(), encoding="utf-8")


def runner() -> str:
    """All modules of the runner one after the other, with their imports in front."""
    folder = Path(portable.__file__).parent
    imports: dict[str, set[str]] = {}
    bodies = []
    for name in _MODULES:
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        tree, lines = ast.parse(text), text.splitlines()
        title, *nodes = tree.body
        assert isinstance(title, ast.Expr)
        left_out = {*range(title.end_lineno or 0)}
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                left_out.update(range(node.lineno - 1, node.end_lineno or 0))
                _collect(node, imports)
        kept = [line for i, line in enumerate(lines) if i not in left_out]
        bodies.append(f"# {name}\n\n" + "\n".join(kept).strip())
    about = (portable.__doc__ or "").replace("icpe.portable import", "portable import")
    front = "\n".join(
        f"from {name} import {', '.join(sorted(found))}" if found else f"import {name}"
        for name, found in sorted(imports.items(), key=lambda it: (bool(it[1]), it[0]))
    ).replace("import numpy", "import numpy as np")
    return f'"""{about}"""\n\n{front}\n\n\n' + "\n\n\n".join(bodies) + "\n"


def _collect(node: ast.Import | ast.ImportFrom, imports: dict[str, set[str]]) -> None:
    """Adds what one statement imports from elsewhere: names by module."""
    if isinstance(node, ast.Import):
        imports |= {it.name: set() for it in node.names}
    elif node.module is not None and not node.module.startswith("icpe."):
        imports.setdefault(node.module, set()).update(it.name for it in node.names)
