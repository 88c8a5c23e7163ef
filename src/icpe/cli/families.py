"""From `--family NAME --family.x VALUE` to a family."""

import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icpe.cli import catalog
from icpe.cli.values import convert, described_type
from icpe.core.errors import UnknownNameError, suggesting

if TYPE_CHECKING:
    from icpe.families import AbstractTaskFamily
else:
    AbstractTaskFamily = Any  # which needs jax


def build_family(name: str, settings: Mapping[str, str]) -> AbstractTaskFamily:
    """Builds a registered family from words.

    Raises:
        UnknownNameError: no such family or parameter.
        InvalidParameterError: a value of the wrong type, or an impossible one.
    """
    check_family(name, settings)
    from icpe.families.registry import get_factory, make

    hints = typing.get_type_hints(get_factory(name))
    values = {
        field: convert(_option(field), word, hints[field])
        for field, word in settings.items()
    }
    return make(name, **values)


def check_family(name: str, settings: Mapping[str, str]) -> None:
    """Complains about names and types before anything is loaded.

    Raises:
        UnknownNameError: no such family or parameter.
        InvalidParameterError: a value of the wrong type.
    """
    card = catalog.family_card(name)
    parameters = {it["name"]: it for it in card["parameters"]}
    for field, word in settings.items():
        if field not in parameters:
            raise UnknownNameError(
                suggesting(
                    f"Family {name!r} has no parameter {field!r}",
                    field,
                    parameters,
                    f"it has {', '.join(parameters) or 'none'}.",
                )
            )
        convert(_option(field), word, described_type(parameters[field]["type"]))


def _option(field: str) -> str:
    return f"--family.{field}"
