"""Reads what users tell: queries, outcomes and masks."""

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icpe.portable.errors import InvalidOutcomeError, suggesting
from icpe.portable.numbers import plain_digits

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
"""A number with commas between thousands."""
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")
"""A number with a comma before its decimals, and perhaps points between thousands."""


def typed_number(text: str) -> float:
    """A number as people type it: 1234.5, 1,234.5, 1234,5, 1.234,5 or 1 234,5.

    Raises:
        ValueError: it is none, or may be two, as 1,234.
    """
    plain = plain_digits(text)
    decimal, thousands = DECIMAL_COMMA.fullmatch(plain), THOUSANDS.fullmatch(plain)
    if decimal and thousands:
        raise ValueError(
            f"{plain} may be {plain.replace(',', '.')} or {plain.replace(',', '')}"
        )
    if decimal:
        plain = plain.replace(".", "").replace(",", ".")
    return float(plain.replace(",", "") if thousands else plain)


def read_query(query: Any, spec: Any, mask: np.ndarray, most: int | None = None) -> int:
    """A query that exists and that the mask allows, by its number or its name.

    Args:
        query: what was told.
        spec: of the family, with the user's names.
        mask: the queries that are allowed.
        most: how many the user's problem has, where these are not all of the family's.

    Raises:
        InvalidOutcomeError: it is something else.
    """
    try:
        number = -1 if isinstance(query, bool | np.bool_) else operator.index(query)
    except TypeError:
        number = -1
    if isinstance(query, str):
        number = position(query, spec.query_names)
    known: int = spec.num_queries if most is None else most
    if not 0 <= number < known:
        names = spec.query_names[:most]
        wanted = f"a whole number from 0 to {known - 1}"
        if names:
            wanted += f", or a name: {listed(names)}"
        complaint = f"query must be {wanted}; got {query!r}"
        raise InvalidOutcomeError(suggesting(complaint, str(query), names))
    if not mask[number]:
        allowed = listed([spec.query_name(it) for it in np.flatnonzero(mask).tolist()])
        raise InvalidOutcomeError(
            f"query {spec.query_name(number)} is not allowed now; those allowed are "
            f"{allowed}."
        )
    return number


def read_first_outcome(first_outcome: Any, spec: Any) -> np.ndarray:
    """What the task reveals before any query, zeros if None; see `read_outcome`."""
    if first_outcome is None:
        first_outcome = np.zeros(spec.outcome_size)
    return _read_numbers("first_outcome", first_outcome, spec)


def read_outcome(outcome: Any, spec: Any, query: int | None = None) -> np.ndarray:
    """The outcome of a query as a vector of its own that nobody can change.

    Where outcomes have names, such as "positive", it may be one of them.

    Raises:
        InvalidOutcomeError: it has another shape, is not finite as a float32, or is
            none of the outcomes that the spec names.
    """
    labels = spec.labels(query)
    words = [word for word, _ in labels]
    named = [
        f"{_shown(value)} ({word})" if _shown(value) != word else word
        for word, value in labels
    ]
    whose = ""
    if query is not None and spec.query_outcomes:
        whose = f"{spec.query_name(query)}: "
    complaint = f"{whose}outcome must be {' or '.join(named)}; got {outcome!r}"
    if isinstance(outcome, str) and words:
        place = position(outcome, words)
        if place < 0:
            raise InvalidOutcomeError(suggesting(complaint, outcome, words))
        outcome = labels[place][1]
    read = _read_numbers("outcome", outcome, spec)
    possible = np.array([value for _, value in labels], np.float32)
    if len(possible) and not (possible == read).all(axis=1).any():
        raise InvalidOutcomeError(f"{complaint}.")
    return read


def read_mask(query_mask: Any, before: np.ndarray) -> np.ndarray:
    """The queries allowed next; as before if the mask is None.

    Raises:
        InvalidOutcomeError: it is not one truth value for each query.
    """
    if query_mask is None:
        return before
    read = as_array(query_mask)
    if read is None or read.dtype != bool or read.shape != before.shape:
        raise InvalidOutcomeError(
            f"query_mask must be {len(before)} truth values, one for each query; "
            f"got {query_mask!r}."
        )
    return read.copy()


def _read_numbers(name: str, outcome: Any, spec: Any) -> np.ndarray:
    size, names = spec.outcome_size, listed(spec.outcome_names)
    wanted = "one number" if size == 1 else f"{size} numbers"
    if isinstance(outcome, Mapping):
        wanted += f" in order: {names}" if names else " in order"
        raise InvalidOutcomeError(f"{name} must be {wanted}; got {outcome!r}.")
    wanted += f" ({names})" if size > 1 and names else ""
    read = as_array(outcome)
    if read is None or read.dtype.kind not in "iuf":
        raise InvalidOutcomeError(f"{name} must be {wanted}; got {outcome!r}.")
    if read.shape != (size,) and not (size == 1 and read.shape == ()):
        raise InvalidOutcomeError(
            f"{name} must be {wanted}; got an array of shape {read.shape}."
        )
    with np.errstate(over="ignore"):
        found = read.reshape(size).astype(np.float32)
    if not np.all(np.isfinite(found)):
        raise InvalidOutcomeError(f"{name} must be finite; got {outcome!r}.")
    found.setflags(write=False)
    return found


def position(name: str, names: Sequence[str]) -> int:
    """Where a name stands, -1 if nowhere; capitals and blanks count only if without
    them it could be two."""
    if name in names:
        return list(names).index(name)
    found = [i for i, it in enumerate(names) if folded(it) == folded(name)]
    return found[0] if len(found) == 1 else -1


def folded(name: str) -> str:
    """A name without what people write differently: capitals and blanks."""
    return " ".join(name.split()).casefold()


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names with commas between, the first few of many."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _shown(value: Sequence[float]) -> str:
    shown = ", ".join(f"{number:g}" for number in value)
    return shown if len(value) == 1 else f"[{shown}]"


def as_array(value: Any) -> np.ndarray | None:
    """The value as an array, None if it cannot be one."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return None
