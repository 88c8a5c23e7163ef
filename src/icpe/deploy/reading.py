"""What a user tells a session, checked and made into arrays.

A session without the rest of icpe reads queries, outcomes and masks in the same way, so
that is written there.
"""

from typing import Any

from icpe.core.checks import is_whole
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    UnsupportedError,
)
from icpe.core.family import AbstractTaskFamily
from icpe.core.units import Reading, Units
from icpe.portable import read_first_outcome as read_first_outcome
from icpe.portable import read_mask as read_mask
from icpe.portable import read_outcome as read_outcome
from icpe.portable import read_query as read_query


def read_units(
    units: Any,
    names: Any,
    first_outcome: Any,
    family: AbstractTaskFamily,
) -> Reading | None:
    """How outcomes in the user's units are read; None where units are the family's.

    There are as many things to ask about as names, or as a first outcome that is a
    whole number says.

    Raises:
        InvalidParameterError: units are none, or such that no task has them.
        UnsupportedError: the family knows one system of units alone.
        InvalidOutcomeError: a first outcome beside units and names.
    """
    if units is None:
        return None
    if not isinstance(units, Units):
        raise InvalidParameterError(
            'units must be such as icpe.Units("%", noise=1.5, matters=1.0); got '
            f"{units!r}."
        )
    number = None if names is None else len(names)
    if number is None and is_whole(first_outcome):
        number = int(first_outcome)
    elif first_outcome is not None:
        raise InvalidOutcomeError(
            "first_outcome follows from units and names; leave it out."
        )
    reading = family.in_units(units, number)
    if reading is None:
        raise UnsupportedError(
            f"units: {type(family).__name__} takes outcomes in its own units alone; "
            "leave units out, or use an explorer for any units, such as best-of-k."
        )
    return reading
