import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "ship.py"


@pytest.fixture(scope="session")
def script():
    """`benchmarks/ship.py`, which says what is let into the zoo."""
    spec = importlib.util.spec_from_file_location("ship", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
