"""Explorers by name: the baselines that need no training."""

import functools as ft
import inspect
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from icpe.core.errors import (
    IcpeError,
    InvalidParameterError,
    UnknownNameError,
    UnsupportedError,
    not_served,
    suggesting,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.families.registry import family_name, family_names, make

Serves = Callable[[AbstractTaskFamily], bool]
Lacks = Callable[[AbstractTaskFamily], str]


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
    serves: Serves
    summary: str
    about: About
    lacks: Lacks


_ENTRIES: dict[str, _Entry] = {}


def _nothing_known(family: AbstractTaskFamily) -> str:
    return ""


def register_explorer(
    name: str,
    factory: Callable[..., AbstractExplorer],
    families: tuple[type[AbstractTaskFamily], ...] | Serves,
    summary: str,
    about: About = About(),  # noqa: B008, an immutable tuple
    lacks: Lacks = _nothing_known,
) -> None:
    """Makes an explorer available by name to `make_explorer` and the command line.

    Args:
        name: words joined by hyphens.
        factory: called with a family and the parameters as keywords. Its keyword-only
            arguments are the parameters; `Annotated[type, "help"]` describes one.
        families: the classes of families it can serve, or whether it can serve a
            family, as a function.
        summary: one line for people.
        about: reference, guarantee and the requests it serves, for people.
        lacks: what a family lacks that it cannot serve, in words; "" if that is no
            more than that it is another family.

    Raises:
        InvalidParameterError: the name is taken by another factory.
    """
    if name in _ENTRIES and _ENTRIES[name].factory is not factory:
        raise InvalidParameterError(
            f"name {name!r} is already registered; choose another name."
        )
    serves = families
    if not callable(serves):
        serves = ft.partial(_is_one_of, serves)
    _ENTRIES[name] = _Entry(factory, serves, summary, about, lacks)


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
                suggesting(
                    f"Explorer {name!r} has no parameter {parameter!r}",
                    parameter,
                    allowed,
                    f"it has {', '.join(allowed) or 'none'}.",
                )
            )
    if not entry.serves(family):
        raise UnsupportedError(
            not_served(
                name,
                family_name(family),
                accepted_families(name),
                explorers_for(family),
                entry.lacks(family),
            )
        )
    return entry.factory(family, **given)


def explorer_names() -> tuple[str, ...]:
    """All registered names, sorted."""
    return tuple(sorted(_ENTRIES))


def explorers_for(family: AbstractTaskFamily) -> tuple[str, ...]:
    """The names of the explorers that can serve a family, sorted."""
    return tuple(n for n in explorer_names() if _holds(_ENTRIES[n].serves, family))


def accepted_families(name: str) -> tuple[str, ...]:
    """The names of the registered families that an explorer can serve, sorted."""
    return families_that(_entry(name).serves)


def families_that(serves: Serves) -> tuple[str, ...]:
    """The names of the registered families for which something holds, sorted.

    A family that cannot be made without its data is left out.
    """

    def holds(name: str) -> bool:
        try:
            family = make(name)
        except IcpeError:
            return False
        return _holds(serves, family)

    return tuple(filter(holds, family_names()))


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


def _holds(serves: Serves, family: AbstractTaskFamily) -> bool:
    try:
        return serves(family)
    except UnsupportedError:
        return False


def _is_one_of(
    classes: tuple[type[AbstractTaskFamily], ...], family: AbstractTaskFamily
) -> bool:
    return type(family) in classes


def _entry(name: str) -> _Entry:
    bare, _, tail = name.partition(":")
    if bare in _ENTRIES and tail:
        raise UnknownNameError(
            f"There is no explorer {name!r}: in Python parameters are keywords, as in "
            f"make_explorer({bare!r}, family, {_keywords(tail)})."
        )
    if name not in _ENTRIES:
        raise UnknownNameError(
            suggesting(
                f"There is no explorer {name!r}",
                name,
                _ENTRIES,
                f"the explorers are {', '.join(explorer_names())}.",
            )
        )
    return _ENTRIES[name]


def _keywords(tail: str) -> str:
    """What stands behind a name on the command line, as Python would have it."""
    pairs = [it.partition("=") for it in tail.split(",") if it]
    return ", ".join(
        f"{name.replace('-', '_')}={_literal(value)}" for name, _, value in pairs
    )


def _literal(word: str) -> str:
    """A word as a number or truth value if it is one, else in quotes."""
    if word.lower() in ("true", "false"):
        return word.capitalize()
    try:
        float(word)
    except ValueError:
        return repr(word)
    return word


def _described(parameter: inspect.Parameter, hint: Any) -> ExplorerParameter:
    metadata = getattr(hint, "__metadata__", ())
    words = " ".join(item for item in metadata if isinstance(item, str))
    annotation = hint.__origin__ if metadata else hint
    return ExplorerParameter(annotation, parameter.default, words)
