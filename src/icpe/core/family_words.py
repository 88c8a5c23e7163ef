"""A family's name and parameters in one line."""

from collections.abc import Mapping
from typing import Any


def in_one_line(name: str, parameters: Mapping[str, Any]) -> str:
    """Such as `binary-search(size=8)`."""
    words = (f"{key}={_shown(value)}" for key, value in parameters.items())
    return f"{name}({', '.join(words)})"


def _shown(value: Any) -> str:
    """A value; pairs of a name and a value as the mapping that they are."""
    if isinstance(value, tuple | list) and value and all(map(_is_named, value)):
        return f"{{{', '.join(f'{name}: {it}' for name, it in value)}}}"
    return str(value)


def _is_named(value: Any) -> bool:
    pair = isinstance(value, tuple | list) and len(value) == 2
    return pair and isinstance(value[0], str)
