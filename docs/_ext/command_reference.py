"""`reference/commands.md`: what every command says of itself with `--help`."""

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

_PAGE = """# Commands

What `icpe COMMAND --help` prints; [the command line](../command-line.md) says how
commands go together.

{overview}
"""
_SECTION = "\n## icpe {name}\n\n```text\n{help}\n```\n"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def _help_of(words: list[str]) -> str:
    from icpe.cli.main import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main([*words, "--help"])
    return _STYLE.sub("", out.getvalue()).rstrip()


def _write(app: Any) -> None:
    from icpe.cli.main import COMMANDS

    os.environ["COLUMNS"] = "90"
    overview = f"```text\n{_help_of([])}\n```"
    sections = [_SECTION.format(name=it, help=_help_of([it])) for it in COMMANDS]
    page = _PAGE.format(overview=overview) + "".join(sections)
    path = Path(app.srcdir) / "reference" / "commands.md"
    if not path.exists() or path.read_text() != page:  # else Sphinx reads it again
        path.write_text(page)


def setup(app: Any) -> dict[str, bool]:
    """Registers the writing of the page, before anything is read."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
