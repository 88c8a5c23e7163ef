"""Explorers by name: the baselines that need no training."""

import inspect
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from icpe.core.belief import class_names
from icpe.core.errors import (
    InvalidParameterError,
    UnknownNameError,
    UnsupportedError,
    did_you_mean,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.families.registry import family_name

FamilyClasses = tuple[type[AbstractTaskFamily], ...]


class ExplorerParameter(NamedTuple):
    """One parameter of an explorer, for help texts and command lines."""

    annotation: Any
    default: Any
    help: str


class About(NamedTuple):
    """Where a method comes from, what it promises, and which requests it serves."""

    reference: str = ""
    guarantee: str = ""
    serves: str = "error_prob, budget"


class _Entry(NamedTuple):
    factory: Callable[..., AbstractExplorer]
    families: Callable[[], FamilyClasses]
    summary: str
    about: About


_ENTRIES: dict[str, _Entry] = {}


def register_explorer(
    name: str,
    factory: Callable[..., AbstractExplorer],
    families: FamilyClasses | Callable[[], FamilyClasses],
    summary: str,
    about: About = About(),  # noqa: B008, an immutable tuple
) -> None:
    """Makes an explorer available by name to `make_explorer` and the command line.

    Args:
        name: words joined by hyphens.
        factory: called with a family and the parameters as keywords. Its keyword-only
            arguments are the parameters; `Annotated[type, "help"]` describes one.
        families: the classes of families it can serve, or a function that gives them
            where the list may grow.
        summary: one line for people.
        about: reference, guarantee and the requests it serves, for people.

    Raises:
        InvalidParameterError: the name is taken by another factory.
    """
    if name in _ENTRIES and _ENTRIES[name].factory is not factory:
        raise InvalidParameterError(
            f"name {name!r} is already registered; choose another name."
        )
    classes = families if callable(families) else lambda: families
    _ENTRIES[name] = _Entry(factory, classes, summary, about)


def make_explorer(
    name: str, family: AbstractTaskFamily, **given: Any
) -> AbstractExplorer:
    """Builds a registered explorer for a family.

    Raises:
        UnknownNameError: no such explorer, or a parameter it does not have.
        UnsupportedError: the explorer cannot serve this family.
        InvalidParameterError: a parameter has an impossible value.
    """
    entry = _entry(name)
    allowed = explorer_parameters(name)
    for parameter in given:
        if parameter not in allowed:
            raise UnknownNameError(
                f"Explorer {name!r} has no parameter {parameter!r}; it has "
                f"{', '.join(allowed) or 'none'}.{did_you_mean(parameter, allowed)}"
            )
    if type(family) not in entry.families():
        others = ", ".join(explorers_for(family)) or "none"
        raise UnsupportedError(
            f"Explorer {name!r} cannot serve family {family_name(family)!r}, only "
            f"{', '.join(accepted_families(name))}; the explorers that serve "
            f"{family_name(family)!r} are: {others}."
        )
    return entry.factory(family, **given)


def explorer_names() -> tuple[str, ...]:
    """All registered names, sorted."""
    return tuple(sorted(_ENTRIES))


def explorers_for(family: AbstractTaskFamily) -> tuple[str, ...]:
    """The names of the explorers that can serve a family, sorted."""
    return tuple(
        name for name in explorer_names() if type(family) in _ENTRIES[name].families()
    )


def accepted_families(name: str) -> tuple[str, ...]:
    """The names of the families that an explorer can serve, sorted."""
    return class_names(_entry(name).families())


def explorer_parameters(name: str) -> dict[str, ExplorerParameter]:
    """The parameters of a registered explorer by name."""
    factory = _entry(name).factory
    hints = typing.get_type_hints(factory, include_extras=True)
    return {
        parameter.name: _described(parameter, hints.get(parameter.name, Any))
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def explorer_summary(name: str) -> str:
    """What a registered explorer does, in one line."""
    return _entry(name).summary


def explorer_about(name: str) -> About:
    """Reference and guarantee of a registered explorer."""
    return _entry(name).about


def _entry(name: str) -> _Entry:
    if name not in _ENTRIES:
        raise UnknownNameError(
            f"There is no explorer {name!r}; the explorers are "
            f"{', '.join(explorer_names())}.{did_you_mean(name, _ENTRIES)}"
        )
    return _ENTRIES[name]


def _described(parameter: inspect.Parameter, hint: Any) -> ExplorerParameter:
    metadata = getattr(hint, "__metadata__", ())
    words = " ".join(item for item in metadata if isinstance(item, str))
    annotation = hint.__origin__ if metadata else hint
    return ExplorerParameter(annotation, parameter.default, words)
