"""Rules of the package as a whole that no single module can break alone."""

import ast
import subprocess
import sys
from pathlib import Path

import icpe

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
import icpe
from jax._src import xla_bridge

for module in pkgutil.walk_packages(icpe.__path__, "icpe."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
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
