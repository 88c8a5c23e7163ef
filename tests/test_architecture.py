"""Rules of the package as a whole that no single module can break alone."""

import ast
import subprocess
import sys
from pathlib import Path

import icpe
from icpe.families.registry import family_names

IMPORT_EVERYTHING = """
import importlib, pathlib, sys
import icpe
from icpe.families.registry import family_names
from jax._src import xla_bridge

OF_AN_EXTRA = (
    "icpe.service.", "icpe.deploy.sql", "icpe.sklearn", "icpe.integrations.gymnasium"
)
folder = pathlib.Path(icpe.__file__).parent
for path in folder.rglob("*.py"):
    parts = path.relative_to(folder.parent).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    if not name.endswith("__main__") and not name.startswith(OF_AN_EXTRA):
        importlib.import_module(name)
assert not xla_bridge.backends_are_initialized(), "an import used a device"
optional = "matplotlib pandas sklearn gymnasium pgmpy fastapi nicegui sqlalchemy ray"
early = set(optional.split()) & set(sys.modules)
assert not early, f"an import loaded the optional {early}"
"""


def test_importing_any_module_uses_no_device_and_no_optional_library():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_public_names_exist_and_are_known_to_type_checkers():
    tree = ast.parse(Path(icpe.__file__).read_text())
    typed = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert typed == icpe._HOMES
    assert all(getattr(icpe, name).__name__ == name for name in typed)
    assert {"make", "preset", "train", "Artifact", "Session"} <= set(dir(icpe))


def classes_of_families() -> set[str]:
    return {type(icpe.make(name)).__name__ for name in family_names()}


MAY_NAME_FAMILIES = {"families", "integrations", "studies", "zoo"}


def test_only_families_and_studies_name_a_concrete_family():
    """Everybody else asks the family, so that a stranger's is served like ours."""
    source = Path(icpe.__file__).parent
    concrete = classes_of_families()
    for path in source.rglob("*.py"):
        if path.relative_to(source).parts[0] in MAY_NAME_FAMILIES:
            continue
        names = {
            node.id if isinstance(node, ast.Name) else node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Name | ast.alias)
        }
        assert not names & concrete, f"{path} names {names & concrete}"


def test_there_is_one_request_and_one_place_that_says_why_an_episode_ended():
    source = Path(icpe.__file__).parent
    classes, deciders = [], []
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and "Request" in node.name:
                classes.append(node.name)
            if isinstance(node, ast.Attribute) and node.attr == "HORIZON":
                deciders.append(path.relative_to(source).as_posix())
    assert classes == ["Request"]
    # The runner of exported explorers stands alone; it is tested against sessions.
    assert set(deciders) == {"core/episode.py", "portable/session.py"}
