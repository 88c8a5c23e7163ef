"""JSON values against the type hints of a dataclass; each complaint is one sentence."""

import dataclasses
import functools as ft
import math
import types
import typing
from collections.abc import Mapping
from typing import Any

from icpe.core.checks import is_whole

_LARGEST = 2**63
_LONGEST_SHOWN = 60


def check_record(values: Any, record: type, where: str, *, whole: bool = True) -> None:
    """Checks that JSON values are those of a dataclass.

    Args:
        values: what is to be an object with the fields of `record`.
        record: a dataclass whose hints are numbers, words, truth values, tuples, maps,
            other dataclasses, or unions of these.
        where: how the values are named in a complaint.
        whole: whether fields without a default must be there, and no others.

    Raises:
        ValueError: something is missing, unknown, of the wrong type, or a number is
            not finite.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where} must be an object; it is {shown(values)}")
    hints = _hints(record)
    if whole:
        unknown = [name for name in values if name not in hints]
        if unknown:
            raise ValueError(f"{where} has an unknown entry {shown(unknown[0])}")
        for name in _required(record):
            if name not in values:
                raise ValueError(f"{where} lacks {name!r}")
    for name, value in values.items():
        if name in hints:
            check_value(value, hints[name], f"{where}.{name}")


def check_value(value: Any, hint: Any, where: str) -> None:
    """Checks one JSON value against a type hint; see `check_record`."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in parts:
            return
        (hint,) = [part for part in parts if part is not type(None)]
        check_value(value, hint, where)
    elif dataclasses.is_dataclass(hint):
        check_record(value, typing.cast(type, hint), where)
    elif origin is tuple:
        _check_items(value, parts, where)
    elif not _is_of(value, origin or hint):
        word = _WORDS[origin or hint]
        raise ValueError(f"{where} must be {word}; it is {shown(value)}")


def _check_items(value: Any, parts: tuple[Any, ...], where: str) -> None:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where} must be a list; it is {shown(value)}")
    if parts[-1:] == (Ellipsis,):
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        raise ValueError(f"{where} must have {len(parts)} entries; it has {len(value)}")
    for index, (item, part) in enumerate(zip(value, parts, strict=True)):
        check_value(item, part, f"{where}[{index}]")


def _is_of(value: Any, kind: Any) -> bool:
    if kind is int:
        return is_whole(value) and abs(value) < _LARGEST
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) < _LARGEST**2 and math.isfinite(value)
    return isinstance(value, kind)


_WORDS = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "a text",
    Mapping: "an object",
    dict: "an object",
}


def shown(value: Any) -> str:
    """A value as a complaint shows it: short, and without what moves a cursor."""
    text = ascii(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


@ft.lru_cache
def _hints(record: type) -> dict[str, Any]:
    return typing.get_type_hints(record)


def _required(record: type) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(typing.cast(Any, record))
        if field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
