"""Rows that are not cases of their own: copies, and several rows about one subject.

A certificate counts rows that nothing saw. A copy of a row, or another row about the
same patient, has been seen if its twin was learned from.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from icpe.integrations.tables.reading import Column

_BY_CHANCE = 0.01
"""Expected number of rows like a given one, below which likeness is no chance."""
_FEWEST_VALUES, _FEWEST_PAIRS = 20, 30
_ALWAYS = 0.95
"""Share of pairs of rows of one class that "always" means."""


def copies(
    columns: Sequence[Column],
    labels: Int[np.ndarray, "rows"],
    beside: Sequence[Column] = (),
) -> Bool[np.ndarray, "rows"]:
    """Which rows are copies of an earlier one.

    Rows of few words may be alike by chance: such are cases of their own. So how often
    two cases would be alike is computed as if columns were independent, and its square
    root is taken, as if each were there twice.

    Args:
        columns: findings.
        labels: the class of each row.
        beside: columns that are no findings, such as dates and numbers of cases, in
            which copies are alike as well. Of these only the most telling one counts.
    """
    codes = np.stack([*map(_codes, [*columns, *beside]), labels], axis=1)
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    is_copy = first[place.reshape(-1)] != np.arange(len(labels))
    distinct = codes[~is_copy]
    alike = [_chance_of_equality(column, distinct[:, -1]) for column in distinct.T[:-1]]
    chance = np.sqrt(np.prod(alike[: len(columns)]))
    chance *= min(alike[len(columns) :], default=1.0)
    if len(distinct) * chance > _BY_CHANCE:
        return np.zeros(len(labels), bool)
    return is_copy


def subject_columns(
    columns: Sequence[Column], labels: Int[np.ndarray, "rows"]
) -> list[str]:
    """Names of columns that seem to say which subject a row is about.

    Such a column has many different words or whole numbers; rows with the same one are
    of the same class, and rows with the next one are not. The last tells a number of
    the patient from a measurement.
    """
    shares = np.bincount(labels) / len(labels)
    chance = float(np.square(shares).sum())
    found = []
    for column in columns:
        numbers = column.numbers
        if numbers is not None and np.any(numbers != np.round(numbers)):
            continue  # fractions, or unknown for some
        table = _counts(_codes(column), labels)
        each = table.sum(axis=1)
        pairs = np.sum(each * (each - 1))
        if len(table) < _FEWEST_VALUES or pairs < 2 * _FEWEST_PAIRS:
            continue
        alike = np.sum(table * (table - 1)) / pairs
        most = table.argmax(axis=1)
        next_alike = np.mean(most[1:] == most[:-1])
        if alike >= max(_ALWAYS, (1 + chance) / 2) and next_alike < (1 + chance) / 2:
            found.append(column.name)
    return found


def one_of_each(
    subjects: Int[np.ndarray, "rows"], random: np.random.Generator
) -> Int[np.ndarray, "subjects"]:
    """A random row of every subject."""
    order = random.permutation(len(subjects))
    _, first = np.unique(subjects[order], return_index=True)
    return np.sort(order[first])


def _codes(column: Column) -> Int[np.ndarray, "rows"]:
    """A number for each different value; what is not known is a value, too."""
    values = column.numbers
    if values is None:
        values = np.array([("0" if w is None else f"1{w}") for w in column.words])
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _counts(codes: np.ndarray, labels: np.ndarray) -> Int[np.ndarray, "values classes"]:
    table = np.zeros((codes.max() + 1, labels.max() + 1), int)
    np.add.at(table, (codes, labels), 1)
    return table


def _chance_of_equality(codes: np.ndarray, labels: np.ndarray) -> float:
    """That two rows of one class have the same value, as if one more pair had it."""
    table = _counts(codes, labels)
    each = table.sum(axis=0)
    return float((1 + np.sum(table * (table - 1))) / (1 + np.sum(each * (each - 1))))
