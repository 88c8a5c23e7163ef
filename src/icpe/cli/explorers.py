"""From EXPLORER words on the command line to explorers and the family they play.

The one place that knows what an EXPLORER can be.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from icpe.cli.families import build_family, convert
from icpe.exceptions import InvalidParameterError
from icpe.explorers import (
    AbstractExplorer,
    explorer_names,
    explorer_parameters,
    make_explorer,
)
from icpe.tasks import AbstractTaskFamily
from icpe.tasks.registry import family_names


@dataclasses.dataclass(frozen=True)
class Cast:
    """Explorers by name, and the family they are to play."""

    explorers: Mapping[str, AbstractExplorer]
    family: AbstractTaskFamily


def resolve(
    words: Sequence[str], family_name: str | None, settings: Mapping[str, str]
) -> Cast:
    """Finds explorers and family.

    Args:
        words: baselines, as NAME or NAME:parameter=value,parameter=value.
        family_name: the family to play.
        settings: its unparsed parameters.

    Raises:
        UnknownNameError: an explorer, family or parameter does not exist.
        UnsupportedError: an explorer cannot serve the family.
        InvalidParameterError: nothing to run, or no family.
    """
    if not words:
        raise InvalidParameterError(
            f"EXPLORER is missing; name one or more of {', '.join(explorer_names())}."
        )
    if len(set(words)) < len(words):
        raise InvalidParameterError(
            f"An explorer may be named only once; got {' '.join(words)}."
        )
    if family_name is None:
        raise InvalidParameterError(
            "--family is missing; a baseline serves several families, so name one of "
            f"{', '.join(family_names())}."
        )
    family = build_family(family_name, settings)
    return Cast({word: _baseline(word, family) for word in words}, family)


def _baseline(word: str, family: AbstractTaskFamily) -> AbstractExplorer:
    name, _, tail = word.partition(":")
    known = explorer_parameters(name)
    values = {}
    for assignment in filter(None, tail.split(",")):
        parameter, _, value = assignment.partition("=")
        parameter = parameter.replace("-", "_")
        values[parameter] = (
            convert(f"{name}:{parameter}", value, known[parameter].annotation)
            if parameter in known
            else value
        )
    return make_explorer(name, family, **values)
