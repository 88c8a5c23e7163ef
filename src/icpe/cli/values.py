"""From words on the command line to values of parameters, and types in words."""

import json
import types
import typing
from typing import Any

from icpe.core.errors import InvalidParameterError

_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    types.NoneType: "null",
}
_LIST = "a list such as [1, 2]"
_ONE_OF, _OR_NULL = "one of ", " or null"


def convert(option: str, word: str, expected: Any) -> Any:
    """Reads a word as a value of a parameter's type.

    Numbers, lists and null are read as JSON; texts as they stand.
    """
    value = _read(word, expected)
    if not _fits(value, expected):
        # A setting without a value stands for true, as a switch does.
        got = "no value" if word == "true" else repr(word)
        raise InvalidParameterError(
            f"{option} must be {describe_type(expected)}; got {got}."
        )
    return value


def describe_type(expected: Any) -> str:
    """A parameter's type in words."""
    arguments = typing.get_args(expected)
    if typing.get_origin(expected) is typing.Literal:
        return _ONE_OF + ", ".join(map(str, arguments))
    if _is_union(expected):
        return " or ".join(describe_type(argument) for argument in arguments)
    return _LIST if _is_tuple(expected) else _WORDS.get(expected, str(expected))


def described_type(words: str) -> Any:
    """The type that `describe_type` put into words, as far as they tell.

    Of lists they do not tell what is in them.
    """
    if words.startswith(_ONE_OF):
        return typing.Literal[tuple(words.removeprefix(_ONE_OF).split(", "))]  # pyright: ignore[reportInvalidTypeArguments]
    if words.endswith(_OR_NULL):
        return typing.Optional[described_type(words.removesuffix(_OR_NULL))]  # noqa: UP045
    types_by_words = {described: type_ for type_, described in _WORDS.items()}
    return types_by_words.get(words, tuple if words == _LIST else Any)


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
    if expected is Any:
        return True
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
