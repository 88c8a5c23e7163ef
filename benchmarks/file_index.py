"""Writes the list of all files into CONTRIBUTING.md: their first lines, by room.

python benchmarks/file_index.py
"""

import ast
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
SOURCE = ROOT / "src" / "icpe"
BEGIN, END = "<!-- files -->", "<!-- /files -->"


def filled(page: str) -> str:
    """The page with the list as the files have it."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{_listed()}{END}{after}"


def _listed() -> str:
    """A section that opens for each room, the package's own files first."""
    files = [path for path in sorted(SOURCE.rglob("*.py")) if _first_line(path)]
    files.sort(key=lambda path: (_room(path) != "", _room(path)))
    sections = []
    for room, inside in groupby(files, key=_room):
        name = f"{room}/" if room else "icpe/"
        rows = [f"- `{_name(path)}`: {_first_line(path)}\n" for path in inside]
        sections.append(
            f"<details><summary><code>{name}</code></summary>\n\n"
            f"{''.join(rows)}\n</details>\n"
        )
    return "".join(sections)


def _room(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def _name(path: Path) -> str:
    name = path.relative_to(SOURCE).as_posix()
    return name.removesuffix("__init__.py") or name


def _first_line(path: Path) -> str:
    """What its docstring says first; it may take two lines."""
    found = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(found.split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
