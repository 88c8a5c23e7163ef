"""From `--likelihoods FILE` and the like to a family."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from icpe.cli.data_files import check_source
from icpe.cli.options import Source
from icpe.cli.values import convert
from icpe.core.errors import UnknownNameError, suggesting
from icpe.families import (
    AbstractTaskFamily,
    from_item_bank,
    from_likelihoods,
    from_network,
)

_SETTINGS = {
    "once": bool,
    "horizon": int,
    "max_items": int,
    "mean": float,
    "deviation": float,
}
"""What may be said of a family from data by --family.x."""


def family_from(source: Source, settings: Mapping[str, str]) -> AbstractTaskFamily:
    """The family that data make.

    Raises:
        InvalidParameterError: options that do not go together.
        DataError: data that cannot be.
        UnknownNameError: a setting that such a family does not have.
    """
    check_source(source)
    if source.network is not None:
        assert source.target is not None
        return from_network(
            source.network,
            source.target,
            source.queries or None,
            source.costs,
            **_read(from_network, settings),
        )
    if source.items is not None:
        return from_item_bank(
            source.items,
            source.cuts,
            costs=source.costs,
            **_read(from_item_bank, settings),
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
                suggesting(
                    f"A family from data has no setting {name!r} here",
                    name,
                    allowed,
                    f"it has {', '.join(allowed)}.",
                )
            )
    return {
        name: convert(f"--family.{name}", word, _SETTINGS[name])
        for name, word in settings.items()
    }
