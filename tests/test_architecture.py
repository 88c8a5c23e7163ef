"""Rules of the package as a whole that no single module can break alone."""

import subprocess
import sys

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
