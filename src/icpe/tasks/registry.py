"""Families by name."""

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from typing import Any

from icpe.exceptions import InvalidParameterError, UnknownNameError
from icpe.tasks.base import AbstractTaskFamily

_FACTORIES: dict[str, Callable[..., AbstractTaskFamily]] = {}


def register(name: str, factory: Callable[..., AbstractTaskFamily]) -> None:
    """Makes a family available by name to `make` and the command line.

    Args:
        name: words joined by hyphens.
        factory: called with the parameters as keywords; usually the family's class.

    Raises:
        InvalidParameterError: the name is taken by another factory.
    """
    if _FACTORIES.get(name, factory) is not factory:
        raise InvalidParameterError(
            f"name {name!r} is already registered; choose another name."
        )
    _FACTORIES[name] = factory


def make(name: str, **given: Any) -> AbstractTaskFamily:
    """Builds a registered family.

    Raises:
        UnknownNameError: no such family, or a parameter it does not have.
        InvalidParameterError: a parameter has an impossible value.
    """
    factory = get_factory(name)
    allowed = parameter_fields(name)
    for field in given:
        if field not in allowed:
            raise UnknownNameError(
                f"Family {name!r} has no parameter {field!r}; it has "
                f"{', '.join(allowed) or 'none'}.{_suggestion(field, allowed)}"
            )
    return factory(**given)


def get_factory(name: str) -> Callable[..., AbstractTaskFamily]:
    """The factory registered under a name."""
    if name not in _FACTORIES:
        raise UnknownNameError(
            f"There is no family {name!r}; the families are "
            f"{', '.join(sorted(_FACTORIES))}.{_suggestion(name, _FACTORIES)}"
        )
    return _FACTORIES[name]


def family_names() -> tuple[str, ...]:
    """All registered names, sorted."""
    return tuple(sorted(_FACTORIES))


def parameter_fields(name: str) -> dict[str, dataclasses.Field]:
    """The parameters of a registered family by name."""
    return {field.name: field for field in dataclasses.fields(get_factory(name))}  # pyright: ignore[reportArgumentType]


def family_name(family: AbstractTaskFamily) -> str:
    """The registered name of a family, or its class name if it has none."""
    for name, factory in _FACTORIES.items():
        if factory is type(family):
            return name
    return type(family).__name__


def describe(family: AbstractTaskFamily) -> str:
    """Name and parameters in one line, rare ones only where they are set."""
    values = ", ".join(
        f"{field.name}={getattr(family, field.name)}"
        for field in dataclasses.fields(family)
        if not field.metadata.get("rare")
        or getattr(family, field.name) != field.default
    )
    return f"{family_name(family)}({values})"


def _suggestion(given: str, allowed: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(given, allowed, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
