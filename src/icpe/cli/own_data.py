"""From `--likelihoods FILE` and the like to a family."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from icpe.cli.options import Source
from icpe.cli.values import convert
from icpe.core.errors import InvalidParameterError, UnknownNameError, did_you_mean
from icpe.families import AbstractTaskFamily, from_likelihoods

_SETTINGS = {"once": bool, "horizon": int}
"""What may be said of a family from data by --family.x."""


def family_from(source: Source, settings: Mapping[str, str]) -> AbstractTaskFamily:
    """The family that data make.

    Raises:
        InvalidParameterError: options that do not go together.
        DataError: data that cannot be.
        UnknownNameError: a setting that such a family does not have.
    """
    if source.likelihoods is None:
        raise InvalidParameterError(
            f"{source.option} goes with --likelihoods FILE; give that too."
        )
    return from_likelihoods(
        source.likelihoods, costs=source.costs, **_read(from_likelihoods, settings)
    )


def _read(build: Callable[..., Any], settings: Mapping[str, str]) -> dict[str, Any]:
    """Settings as keywords of what builds the family."""
    takes = inspect.signature(build).parameters
    allowed = [name for name in _SETTINGS if name in takes]
    for name in settings:
        if name not in allowed:
            raise UnknownNameError(
                f"A family from data has no setting {name!r} here; it has "
                f"{', '.join(allowed)}.{did_you_mean(name, allowed)}"
            )
    return {
        name: convert(f"--family.{name}", word, _SETTINGS[name])
        for name, word in settings.items()
    }
