"""From a bank of items in a CSV file to a family."""

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from icpe.core.decoding import composed
from icpe.core.errors import DataError, InvalidParameterError
from icpe.families.csv_files import Table, read_costs, read_table
from icpe.families.item_bank.law import ItemBank

_MOST_GRADES = 12
_MOST_DEVIATIONS = 5.0
_GRADES = tuple(f"b{k}" for k in range(1, _MOST_GRADES + 1))
_ALSO = {
    "name": "item",
    "id": "item",
    "item_id": "item",
    "discrimination": "a",
    "difficulty": "b",
    "guessing": "c",
    "domain": "content",
}
"""Other words for columns."""
COLUMNS = ("item", "a", "b", "c", "content", "cost", *_GRADES)


def from_item_bank(
    bank: Any,
    cuts: Sequence[float] | float,
    *,
    max_items: int | None = None,
    mean: float = 0.0,
    deviation: float = 1.0,
    content_limits: Mapping[str, int] | None = None,
    costs: Any = None,
    bands: Sequence[str] = (),
) -> ItemBank:
    """An adaptive test from a bank of items: in which band is the ability?

    Args:
        bank: path of a CSV file, or a data frame, with a row for each item. Columns:
            `item`, its name; `a`, its discrimination (1 if left out); `b`, its
            difficulty, or `b1`, `b2`, .. for the grades of a graded item; `c`, the
            probability of guessing (0 if left out); `content`, what it is about;
            `cost`.
        cuts: the abilities that divide the bands, rising.
        max_items: most items in a test; by default all, up to 60.
        mean: mean of the abilities, which are normal.
        deviation: their standard deviation.
        content_limits: most items of each content, by its name.
        costs: cost of each item, as for `from_likelihoods`.
        bands: names of the bands, from the lowest.

    Raises:
        DataError: the bank or a number in it is not what it must be.
        InvalidParameterError: an argument does not fit.
    """
    table = read_table(bank, ("item",), COLUMNS[1:], what="bank", also=_ALSO)
    names = [table.word("item", row) for row in range(len(table))]
    for row, name in enumerate(names):
        if names.index(name) != row:
            raise DataError(f"{table.where(row)} repeats item {name!r}; rename one.")
    thresholds = _thresholds(table)
    limits = tuple((composed(it), n) for it, n in (content_limits or {}).items())
    if limits and "content" not in table.columns:
        raise DataError(
            f"{table.name} has no column 'content', which limits are about."
        )
    if costs is None and "cost" in table.columns:
        costs = [table.number("cost", row) for row in range(len(table))]
    if max_items is not None and not max_items >= 1:
        raise InvalidParameterError(f"max_items must be at least 1; got {max_items}.")
    return ItemBank(
        slope=jnp.asarray(_slopes(table)),
        thresholds=jnp.asarray(thresholds),
        guess=jnp.asarray(_guesses(table, thresholds)),
        title=Path(table.name).name,
        cuts=_cuts(cuts, float(mean), float(deviation)),
        mean=float(mean),
        deviation=float(deviation),
        grades=tuple(np.isfinite(thresholds).sum(axis=1).tolist()),
        item_names=tuple(names),
        band_names=tuple(map(str, bands)),
        content=tuple(composed(str(it)) for it in table.columns.get("content", ())),
        content_limits=limits,
        costs=read_costs(costs, tuple(names), num_queries=len(names)),
        horizon=max_items or 0,
    )


def _cuts(cuts: Any, mean: float, deviation: float) -> tuple[float, ...]:
    try:
        values = np.atleast_1d(np.asarray(cuts, float))
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
        raise InvalidParameterError(f"cuts must be one or more numbers; got {cuts!r}.")
    if np.any(np.diff(values) <= 0):
        raise InvalidParameterError(f"cuts must rise; got {cuts!r}.")
    far = np.abs(values - mean) > _MOST_DEVIATIONS * deviation
    if far.any():
        raise InvalidParameterError(
            f"cuts: hardly anybody's ability lies beyond {values[far][0]:g}, where its "
            f"mean is {mean:g} and its standard deviation {deviation:g}; choose cuts "
            "among the abilities, or give their mean and deviation."
        )
    return tuple(values.tolist())


def _slopes(table: Table) -> np.ndarray:
    if "a" not in table.columns:
        return np.ones(len(table))
    slopes = [table.number("a", row) for row in range(len(table))]
    for row, slope in enumerate(slopes):
        if not slope > 0:
            raise DataError(
                f"{table.where(row)}: the discrimination a must be positive; got "
                f"{slope:g}: an item that able people miss more often is of no use; "
                "leave it out."
            )
    return np.array(slopes)


def _thresholds(table: Table) -> np.ndarray:
    """Difficulties item by item, infinite where an item has fewer grades."""
    columns = [name for name in ("b", *_GRADES) if name in table.columns]
    if not columns:
        raise DataError(f"{table.name} has no column 'b', nor 'b1', 'b2' and so on.")
    rows = []
    for row in range(len(table)):
        given = [name for name in columns if not _is_empty(table.columns[name][row])]
        if not given or ("b" in given and len(given) > 1):
            raise DataError(
                f"{table.where(row)}: an item has a difficulty b, or those of its "
                f"grades b1, b2, ..; got {', '.join(given) or 'neither'}."
            )
        values = [table.number(name, row) for name in given]
        if any(two <= one for one, two in itertools.pairwise(values)):
            raise DataError(
                f"{table.where(row)}: the grades {', '.join(given)} must rise; got "
                f"{', '.join(f'{value:g}' for value in values)}."
            )
        rows.append(values)
    most = max(map(len, rows))
    return np.array([row + [np.inf] * (most - len(row)) for row in rows])


def _guesses(table: Table, thresholds: np.ndarray) -> np.ndarray:
    guesses = np.zeros(len(table))
    for row, given in enumerate(table.columns.get("c", ())):
        if _is_empty(given):
            continue
        guesses[row] = guess = table.number("c", row)
        if not 0.0 <= guess < 1.0:
            raise DataError(
                f"{table.where(row)}: the probability c of guessing must be at least 0 "
                f"and below 1; got {guess:g}."
            )
        if guess and np.isfinite(thresholds[row]).sum() > 1:
            raise DataError(
                f"{table.where(row)}: a graded item cannot be guessed; leave c out."
            )
    return guesses


def _is_empty(value: Any) -> bool:
    """Missing values are empty in files, and None or NaN in data frames."""
    return value is None or bool(re.fullmatch(r"\s*(nan)?\s*", str(value).lower()))
