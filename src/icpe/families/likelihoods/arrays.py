"""Probabilities in an array, or in nested lists: hypotheses x queries x outcomes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icpe.core.errors import InvalidParameterError
from icpe.families.likelihoods.law import padded
from icpe.families.likelihoods.names import Names, read_names
from icpe.families.likelihoods.stated import TOLERANCE, Stated


def from_array(likelihood: Any, names: Any) -> Stated:
    """What an array says, with names where they are given.

    Raises:
        InvalidParameterError: it is no such array, or does not fit the names.
    """
    try:
        table = np.asarray(likelihood, float)
    except (TypeError, ValueError):
        table = _ragged(likelihood)
    if table.ndim != 3 or 0 in table.shape:
        raise InvalidParameterError(
            "likelihood must be an array of hypotheses x queries x outcomes; got "
            f"{f'the shape {table.shape}' if table.ndim else repr(likelihood)}."
        )
    names = read_names(names, table.shape)
    table = np.where(np.isnan(table) & _lacking(names, table.shape), 0.0, table)
    bad = ~((table >= 0) & (table <= 1 + TOLERANCE))
    if bad.any():
        h, q, o = np.argwhere(bad)[0].tolist()
        raise InvalidParameterError(
            f"likelihood[{h}, {q}, {o}] must lie between 0 and 1; got "
            f"{table[h, q, o]:g}."
        )
    sums = table.sum(axis=2)
    if (wrong := np.argwhere(np.abs(sums - 1.0) > TOLERANCE)).size:
        h, q = wrong[0].tolist()
        raise InvalidParameterError(
            f"likelihood[{h}, {q}], the probabilities of query "
            f"{_called(names.queries, q)} given hypothesis "
            f"{_called(names.hypotheses, h)}, sum to {sums[h, q]:.6g}; they must sum "
            "to 1."
        )
    beyond = (table > 0) & _lacking(names, table.shape)
    if beyond.any():
        h, q, o = np.argwhere(beyond)[0].tolist()
        raise InvalidParameterError(
            f"likelihood[{h}, {q}, {o}] is {table[h, q, o]:g}, but query "
            f"{_called(names.queries, q)} has only the outcomes "
            f"{', '.join(names.outcomes[q])}; name all of them."
        )
    return Stated("an array", table, names._replace(outcomes=_words(names, table)))


def _words(names: Names, table: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Names of the outcomes; numbers of those that can be, where there are none."""
    if names.outcomes:
        return names.outcomes
    possible = np.asarray((table > 0).any(axis=0))
    last = table.shape[2] - np.argmax(possible[:, ::-1], axis=1)
    return tuple(tuple(map(str, range(number))) for number in last)


def _called(names: Sequence[str], index: int) -> str:
    return repr(names[index]) if names else str(index)


def _ragged(likelihood: Any) -> np.ndarray:
    """Nested lists, the innermost of different lengths."""
    try:
        sizes = {tuple(len(cells) for cells in row) for row in likelihood}
        if len(sizes) == 1:
            return padded(likelihood)
    except (TypeError, ValueError):
        return np.zeros(())
    raise InvalidParameterError(
        "likelihood must have the same queries, each with the same number of outcomes, "
        "for every hypothesis; pad a query that has fewer outcomes with zeros."
    )


def _lacking(names: Names, shape: tuple[int, ...]) -> np.ndarray:
    """Which cells belong to no outcome; NaN is allowed there."""
    if not names.outcomes:
        return np.zeros(shape, bool)
    sizes = np.array([len(words) for words in names.outcomes])
    return np.broadcast_to(np.arange(shape[2]) >= sizes[:, None], shape)
