"""What a user tells a session, checked and made into arrays."""

import operator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from icpe.core.checks import is_whole
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    UnsupportedError,
)
from icpe.core.family import AbstractTaskFamily
from icpe.core.spec import TaskSpec
from icpe.core.units import Reading, Units


def read_query(query: Any, spec: TaskSpec, mask: Bool[np.ndarray, "queries"]) -> int:
    """A query that exists and that the mask allows.

    Raises:
        InvalidOutcomeError: it is something else.
    """
    try:
        number = -1 if isinstance(query, bool | np.bool_) else operator.index(query)
    except TypeError:
        number = -1
    if not 0 <= number < spec.num_queries:
        raise InvalidOutcomeError(
            f"query must be a whole number from 0 to {spec.num_queries - 1}; "
            f"got {query!r}."
        )
    if not mask[number]:
        allowed = ", ".join(map(str, np.flatnonzero(mask)))
        raise InvalidOutcomeError(
            f"query {number} is not allowed now; those allowed are {allowed}."
        )
    return number


def read_first_outcome(
    first_outcome: Any, spec: TaskSpec
) -> Float[np.ndarray, "outcome"]:
    """What the task reveals before any query, zeros if None; see `read_outcome`."""
    if first_outcome is None:
        first_outcome = np.zeros(spec.outcome_size)
    return _read_numbers("first_outcome", first_outcome, spec)


def read_outcome(outcome: Any, spec: TaskSpec) -> Float[np.ndarray, "outcome"]:
    """The outcome as a vector of its own that nobody can change.

    Raises:
        InvalidOutcomeError: it has another shape, is not finite as a float32, or is
            none of the outcomes that the spec names.
    """
    numbers = _read_numbers("outcome", outcome, spec)
    possible = np.array([value for _, value in spec.outcome_labels], np.float32)
    if len(possible) and not (possible == numbers).all(axis=1).any():
        named = [f"{_shown(value)} ({word})" for word, value in spec.outcome_labels]
        raise InvalidOutcomeError(
            f"outcome must be {' or '.join(named)}; got {outcome!r}."
        )
    return numbers


def _read_numbers(
    name: str, outcome: Any, spec: TaskSpec
) -> Float[np.ndarray, "outcome"]:
    size = spec.outcome_size
    wanted = "one number" if size == 1 else f"{size} numbers"
    read = _as_array(outcome)
    if read is None or read.dtype.kind not in "iuf":
        raise InvalidOutcomeError(f"{name} must be {wanted}; got {outcome!r}.")
    if read.shape != (size,) and not (size == 1 and read.shape == ()):
        raise InvalidOutcomeError(
            f"{name} must be {wanted}; got an array of shape {read.shape}."
        )
    with np.errstate(over="ignore"):
        numbers = read.reshape(size).astype(np.float32)
    if not np.all(np.isfinite(numbers)):
        raise InvalidOutcomeError(f"{name} must be finite; got {outcome!r}.")
    numbers.setflags(write=False)
    return numbers


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


def read_mask(
    query_mask: Any, before: Bool[np.ndarray, "queries"]
) -> Bool[np.ndarray, "queries"]:
    """The queries allowed next; as before if the mask is None.

    Raises:
        InvalidOutcomeError: it is not one truth value for each query.
    """
    if query_mask is None:
        return before
    read = _as_array(query_mask)
    if read is None or read.dtype != bool or read.shape != before.shape:
        raise InvalidOutcomeError(
            f"query_mask must be {len(before)} truth values, one for each query; "
            f"got {query_mask!r}."
        )
    return read.copy()


def _shown(value: tuple[float, ...]) -> str:
    numbers = ", ".join(f"{number:g}" for number in value)
    return numbers if len(value) == 1 else f"[{numbers}]"


def _as_array(value: Any) -> np.ndarray | None:
    """The value as an array, None if it cannot be one."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return None
