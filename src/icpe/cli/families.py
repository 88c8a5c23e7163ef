"""From `FAMILY --family.x VALUE`, or the user's own data, to a family."""

import dataclasses
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icpe import zoo
from icpe.cli import catalog
from icpe.cli.anywhere import check_family_file, family_in_file, names_file
from icpe.cli.data_files import check_source, read_settings
from icpe.cli.options import Source
from icpe.cli.values import convert, described_type
from icpe.core.checks import check_within
from icpe.core.errors import InvalidParameterError, UnknownNameError, suggesting

if TYPE_CHECKING:
    from icpe.families import AbstractTaskFamily
else:
    AbstractTaskFamily = Any  # which needs jax


def build_family(
    name: str, settings: Mapping[str, str], source: Source | None = None
) -> AbstractTaskFamily:
    """Builds a family from words: a registered one, one in a file, or from data.

    Args:
        name: its name, or FILE.py:CLASS; empty where data are given.
        settings: its unparsed parameters.
        source: data that make a family.

    Raises:
        UnknownNameError: no such family or parameter.
        InvalidParameterError: a value of the wrong type, or an impossible one; a name
            and data together, or neither.
        DataError: data that cannot be.
    """
    check_family(name, settings, source)
    if source is not None and source.is_given:
        from icpe.cli.own_data import family_from
        from icpe.cli.terminal import warnings_said

        with warnings_said():
            return family_from(source, settings)
    if names_file(name):
        name = known_name(name)
        check_family(name, settings)
    from icpe.families.registry import get_factory, make

    return make(name, **_values(get_factory(name), settings))


def changed_family(
    family: AbstractTaskFamily, settings: Mapping[str, str]
) -> AbstractTaskFamily:
    """A family with other values of some parameters, such as that of a file.

    Raises:
        InvalidParameterError: a value of the wrong type, or an impossible one.
    """
    changeable: Any = family  # a dataclass, which its base class is not to pyright
    return dataclasses.replace(changeable, **_values(type(family), settings))


def _values(factory: Any, settings: Mapping[str, str]) -> dict[str, Any]:
    hints = typing.get_type_hints(factory)
    return {
        field: convert(_option(field), word, hints[field])
        for field, word in settings.items()
    }


def known_name(name: str) -> str:
    """The name of a family; one in a file is loaded, and goes by that of its class.

    Raises:
        InvalidParameterError: there is no such file or class, or it is no family.
    """
    if not names_file(name):
        return name
    from icpe.families.registry import registered_name

    return registered_name(family_in_file(name))


def check_family(
    name: str, settings: Mapping[str, str], source: Source | None = None
) -> None:
    """Complains about names, types and ranges before anything is loaded.

    Raises:
        UnknownNameError: no such family or parameter.
        InvalidParameterError: a value of the wrong type or outside its range; a name
            and data together, or neither.
    """
    if source is not None and source.is_given:
        if name:
            raise InvalidParameterError(
                f"FAMILY {name} and {source.option} are two families; leave one out."
            )
        check_source(source)
        read_settings(source, settings)
        return
    if not name:
        raise InvalidParameterError(
            "FAMILY is missing; give the name of one (`icpe tasks` lists them), "
            "FILE.py:CLASS, or data of your own by --likelihoods, --network or --items."
        )
    if names_file(name):
        check_family_file(name)
        return
    _check_is_no_data(name)
    if ".py" in name or ":" in name:
        raise InvalidParameterError(
            f"FAMILY {name}: a family in a file is written FILE.py:CLASS, such as "
            "my_problem.py:MyFamily."
        )
    _check_is_not_of_the_zoo(name)
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
        expected = described_type(parameters[field]["type"])
        value = convert(_option(field), word, expected)
        check_within(_option(field), value, **parameters[field]["limits"])


_DATA = {
    ".csv": "a table of cases is for icpe train-table {} --target COLUMN, one of "
    "probabilities goes with --likelihoods {}, one of test items with --items {}.",
    ".bif": "a network is given by --network {} --target VARIABLE.",
    ".safetensors": "a trained explorer has its family; icpe train --from {} starts "
    "from it.",
}


def _check_is_no_data(name: str) -> None:
    """Complains about a file where the name of a family was wanted."""
    for suffix, sentence in _DATA.items():
        if name.lower().endswith(suffix):
            raise InvalidParameterError(
                f"FAMILY {name} is a file, not a family; {sentence.replace('{}', name)}"
            )


def _check_is_not_of_the_zoo(name: str) -> None:
    """Complains about a trained explorer, by what sets its family."""
    if name in catalog.family_names() or name not in zoo.names():
        return
    family = zoo.card(name).family
    known = catalog.family_card(family["name"])["parameters"]
    usual = {it["name"]: it["default"] for it in known}
    options = [
        f"{_option(field)} {value}"
        for field, value in family["parameters"].items()
        if field in usual and value != usual[field]
    ]
    using = f" with {' '.join(options)}" if options else ""
    raise UnknownNameError(
        f"There is no family {name!r}, which is a trained explorer of `icpe zoo`; did "
        f"you mean {family['name']!r}{using}?"
    )


def _option(field: str) -> str:
    return f"--family.{field.replace('_', '-')}"
