"""Families by name."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from icpe.core.errors import (
    ConformanceError,
    InvalidParameterError,
    UnknownNameError,
    suggesting,
)
from icpe.core.family import (
    AbstractTaskFamily,
    parameter_names,
    parameters,
)
from icpe.core.family_words import in_one_line

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
        ConformanceError: a class that lacks methods, or sets its own fields.
    """
    factory: Any = get_factory(name)
    allowed = [field.name for field in dataclasses.fields(factory) if field.init]
    for field in given:
        if field not in allowed:
            raise UnknownNameError(
                suggesting(
                    f"Family {name!r} has no parameter {field!r}",
                    field,
                    allowed,
                    f"it has {', '.join(allowed) or 'none'}.",
                )
            )
    missing = sorted(getattr(factory, "__abstractmethods__", ()))
    if missing:
        raise ConformanceError(
            f"{factory.__name__} lacks {', '.join(missing)}; a family has all methods "
            "of AbstractTaskFamily."
        )
    try:
        return factory(**given)
    except dataclasses.FrozenInstanceError as error:
        raise ConformanceError(
            f"{factory.__name__} has an __init__ that sets fields, which are frozen; "
            'leave it out and declare them, as in size: int = icpe.parameter(4, "..").'
        ) from error


def get_factory(name: str) -> Callable[..., AbstractTaskFamily]:
    """The factory registered under a name."""
    if name not in _FACTORIES:
        raise UnknownNameError(
            suggesting(
                f"There is no family {name!r}",
                name,
                _FACTORIES,
                f"the families are {', '.join(sorted(_FACTORIES))} and those that you "
                "register, on the command line by --import MODULE.",
            )
        )
    return _FACTORIES[name]


def family_names() -> tuple[str, ...]:
    """All registered names, sorted."""
    return tuple(sorted(_FACTORIES))


def parameter_fields(name: str) -> dict[str, dataclasses.Field]:
    """The parameters of a registered family by name."""
    factory: Any = get_factory(name)
    allowed = parameter_names(factory)
    fields = dataclasses.fields(factory)
    return {field.name: field for field in fields if field.name in allowed}


def is_registered(factory: Any) -> bool:
    """Whether a class is registered under some name."""
    return factory in _FACTORIES.values()


def registered_name(factory: Any) -> str:
    """The first name of a registered class."""
    return next(name for name, it in _FACTORIES.items() if it is factory)


def family_name(family: AbstractTaskFamily) -> str:
    """The registered name of a family, or its class name if it has none."""
    for name, factory in _FACTORIES.items():
        if factory is type(family):
            return name
    return type(family).__name__


def describe(family: AbstractTaskFamily) -> str:
    """Name and parameters in one line, rare ones only where they are set."""
    notable = _notable(dataclasses.fields(family), parameters(family))
    return in_one_line(family_name(family), notable)


def describe_record(name: str, parameters: Mapping[str, Any]) -> str:
    """The same of a family as reports and files record it."""
    return in_one_line(name, notable_parameters(name, parameters))


def notable_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded parameters without the rare ones that have their default."""
    if name not in _FACTORIES:
        return dict(parameters)
    return _notable(parameter_fields(name).values(), parameters)


def _notable(
    fields: Iterable[dataclasses.Field], values: Mapping[str, Any]
) -> dict[str, Any]:
    fields = tuple(fields)
    words = {field.name for field in fields if field.metadata.get("words")}
    usual = {
        field.name: field.default for field in fields if field.metadata.get("rare")
    }

    def is_notable(name: str, value: Any) -> bool:
        value = tuple(value) if isinstance(value, list) else value
        return name not in words and (name not in usual or value != usual[name])

    return {name: value for name, value in values.items() if is_notable(name, value)}
