"""From `--family NAME --family.x VALUE` to a family."""

import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from icpe.core.errors import InvalidParameterError
from icpe.families import AbstractTaskFamily
from icpe.families.registry import get_factory, make, parameter_fields


def build_family(name: str, settings: Mapping[str, str]) -> AbstractTaskFamily:
    """Builds a registered family from words.

    Raises:
        UnknownNameError: no such family or parameter.
        InvalidParameterError: a value of the wrong type, or an impossible one.
    """
    hints = typing.get_type_hints(get_factory(name))
    fields = parameter_fields(name)
    values = {
        field: convert(f"--family.{field}", word, hints[field])
        if field in fields
        else word
        for field, word in settings.items()
    }
    return make(name, **values)


def convert(option: str, word: str, expected: Any) -> Any:
    """Reads a word as a value of a parameter's type.

    Numbers, lists and null are read as JSON; texts as they stand.
    """
    value = _read(word, expected)
    if not _fits(value, expected):
        raise InvalidParameterError(
            f"{option} must be {describe_type(expected)}; got {word!r}."
        )
    return value


def describe_type(expected: Any) -> str:
    """A parameter's type in words."""
    arguments = typing.get_args(expected)
    if typing.get_origin(expected) is typing.Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if _is_union(expected):
        return " or ".join(describe_type(argument) for argument in arguments)
    if _is_tuple(expected):
        return "a list such as [1, 2]"
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        types.NoneType: "null",
    }
    return words.get(expected, str(expected))


def _read(word: str, expected: Any) -> Any:
    if expected is str or (
        typing.get_origin(expected) is typing.Literal
        and word in typing.get_args(expected)
    ):
        return word
    try:
        return _tupled(json.loads(word.lower() if expected is bool else word))
    except json.JSONDecodeError:
        return word


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def _fits(value: Any, expected: Any) -> bool:
    arguments = typing.get_args(expected)
    if typing.get_origin(expected) is typing.Literal:
        return value in arguments
    if _is_union(expected):
        return any(_fits(value, argument) for argument in arguments)
    if _is_tuple(expected):
        entry = arguments[0] if arguments else Any
        return isinstance(value, tuple) and all(_fits(v, entry) for v in value)
    if expected is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if expected is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(expected, type) or isinstance(value, expected)


def _is_union(expected: Any) -> bool:
    return typing.get_origin(expected) in (typing.Union, types.UnionType)


def _is_tuple(expected: Any) -> bool:
    return expected is tuple or typing.get_origin(expected) is tuple
