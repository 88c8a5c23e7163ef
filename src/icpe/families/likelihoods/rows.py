"""Probabilities in rows: a hypothesis, a query, an outcome and its probability."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from icpe.core.errors import DataError
from icpe.families.csv_files import Table
from icpe.families.likelihoods.names import Names
from icpe.families.likelihoods.stated import TOLERANCE, Stated
from icpe.portable.reading import folded

COLUMNS = ("hypothesis", "query", "outcome", "probability")
OPTIONAL = ("prior", "cost")


def from_rows(rows: Table) -> Stated:
    """What the rows say; hypotheses, queries and outcomes in order of appearance.

    Raises:
        DataError: a row is wrong or missing, or probabilities do not sum to 1.
    """
    hypotheses = _distinct(rows, "hypothesis")
    queries = _distinct(rows, "query")
    words: dict[str, list[str]] = {query: [] for query in queries}
    cells: dict[tuple[str, str, str], float] = {}
    last: dict[tuple[str, str], int] = {}
    for row in range(len(rows)):
        h, q, o = (rows.word(column, row) for column in COLUMNS[:3])
        probability = rows.number("probability", row)
        if not 0.0 <= probability <= 1.0 + TOLERANCE:
            raise DataError(
                f"{rows.where(row)}: probability must lie between 0 and 1; got "
                f"{probability:g}{_as_share(probability)}."
            )
        if (h, q, o) in cells:
            raise DataError(
                f"{rows.where(row)} repeats hypothesis {h!r}, query {q!r} and outcome "
                f"{o!r}; keep one of the rows."
            )
        cells[h, q, o] = probability
        last[h, q] = row
        if o not in words[q]:
            words[q].append(o)
    _check_spelling(rows.name, words, cells)
    table = np.zeros((len(hypotheses), len(queries), max(map(len, words.values()))))
    for i, h in enumerate(hypotheses):
        for j, q in enumerate(queries):
            if (h, q) not in last:
                raise DataError(
                    f"{rows.name} has no row of hypothesis {h!r} and query {q!r}; give "
                    "the probability of each outcome"
                    f"{_other_spelling(h, hypotheses) or _other_spelling(q, queries)}."
                )
            for k, o in enumerate(words[q]):
                table[i, j, k] = cells.get((h, q, o), 0.0)
            total = float(table[i, j].sum())
            if abs(total - 1.0) > TOLERANCE:
                raise DataError(
                    f"{rows.where(last[h, q])}: the probabilities of query {q!r} given "
                    f"hypothesis {h!r} sum to {total:.6g}; they must sum to 1"
                    f"{_other_spelling(h, hypotheses) or _other_spelling(q, queries)}."
                )
    return Stated(
        _title(rows.name),
        table,
        Names(hypotheses, queries, tuple(tuple(words[query]) for query in queries)),
        by_name(rows, "prior", "hypothesis"),
        by_name(rows, "cost", "query"),
    )


def _check_spelling(
    name: str,
    words: Mapping[str, Sequence[str]],
    cells: Mapping[tuple[str, str, str], float],
) -> None:
    """Refuses an outcome in two spellings, each of which would then be telling.

    Where one hypothesis has both, they are two outcomes.
    """
    for query, outcomes in words.items():
        first: dict[str, str] = {}
        for word in outcomes:
            other = first.setdefault(folded(word), word)
            if other == word:
                continue
            own = {h for h, q, o in cells if (q, o) == (query, word)}
            if not any((h, query, other) in cells for h in own):
                raise DataError(
                    f"{name}: outcomes {other!r} and {word!r} of query {query!r} "
                    "differ in capitals or blanks alone; write them alike."
                )


def _other_spelling(name: str, names: Sequence[str]) -> str:
    """What is said of a name that differs from it in capitals or blanks alone."""
    for it in names:
        if it != name and folded(it) == folded(name):
            return f", and write {name!r} and {it!r} alike if they are one"
    return ""


def _as_share(given: float) -> str:
    return f"; write {given:g} % as {given / 100:g}" if 1.0 < given <= 100.0 else ""


def _title(name: str) -> str:
    return Path(name).name


def _distinct(rows: Table, column: str) -> tuple[str, ...]:
    """Names in the order in which they appear."""
    return tuple(dict.fromkeys(rows.word(column, i) for i in range(len(rows))))


def by_name(rows: Table, column: str, key: str) -> dict[str, float] | None:
    """A value for each name of a column, which all its rows must agree on."""
    if column not in rows.columns:
        return None
    found: dict[str, float] = {}
    for row in range(len(rows)):
        name = rows.word(key, row)
        if not str(rows.columns[column][row]).strip():
            continue
        number = rows.number(column, row)
        if found.setdefault(name, number) != number:
            raise DataError(
                f"{rows.where(row)}: {column} of {name!r} is {number:g}, but "
                f"{found[name]:g} before; give the same in all its rows."
            )
    return found
