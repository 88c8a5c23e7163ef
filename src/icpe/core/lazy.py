"""Modules that are imported when they are first named, as in `icpe.theory.betting`."""

import importlib
from collections.abc import Callable
from types import ModuleType


def submodules_of(package: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` for a package, by which its modules need no import of their own.

    Args:
        package: its full name.
    """

    def find(name: str) -> ModuleType:
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
