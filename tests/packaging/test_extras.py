"""What the extras bring along."""

import importlib.metadata
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
MOST_FOR_SERVING = 25


def needed(lines: list[str]) -> set[str]:
    """Packages that these requirements bring along, themselves included."""
    left = [Requirement(line) for line in lines]
    done: set[tuple[str, frozenset[str]]] = set()
    while left:
        wanted = left.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in done:
            continue
        done.add((name, extras))
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{name} is not installed, so what it needs is not known")
        for further in map(Requirement, lines):
            marker = further.marker
            if marker is None or any(
                marker.evaluate({"extra": extra}) for extra in (*extras, "")
            ):
                left.append(further)
    return {name for name, _ in done}


def test_the_extra_to_serve_brings_few_packages():
    project = tomllib.loads(PROJECT.read_text())["project"]
    core = needed(project["dependencies"])
    extra = project["optional-dependencies"]["serve"]
    added = needed([*project["dependencies"], *extra]) - core
    assert {"fastapi", "sqlalchemy"} <= added
    assert len(added) <= MOST_FOR_SERVING, sorted(added)
