"""From an array, a CSV file or a data frame of probabilities to a family."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from icpe.core.errors import DataError, InvalidParameterError, suggesting
from icpe.families.csv_files import (
    Table,
    is_frame,
    is_path,
    read_costs,
    read_table,
)
from icpe.families.likelihoods.law import Likelihoods, padded
from icpe.portable.reading import folded

COLUMNS = ("hypothesis", "query", "outcome", "probability")
OPTIONAL = ("prior", "cost")
TOLERANCE = 2e-3
"""Rounded probabilities may miss a sum of 1 by this much; they are rescaled."""
MOST_OUTCOMES = 64
"""Of one query."""
_PARTS = {"hypotheses": "hypothesis", "queries": "query", "outcomes": "outcome"}


class Names(NamedTuple):
    """Names of hypotheses, queries and the outcomes of each query; empty: numbers."""

    hypotheses: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    outcomes: tuple[tuple[str, ...], ...] = ()


class _Read(NamedTuple):
    """What a file or an array says."""

    title: str
    table: Float[np.ndarray, "hypotheses queries outcomes"]
    names: Names
    prior: Any = None
    costs: Any = None


def from_likelihoods(
    likelihood: Any,
    prior: Any = None,
    costs: Any = None,
    once: bool = True,
    names: Any = None,
    *,
    horizon: int | None = None,
) -> Likelihoods:
    """A family from the probability of each outcome, given hypothesis and query.

    Args:
        likelihood: hypotheses x queries x outcomes, as an array or nested lists (the
            innermost may differ in length from query to query), or the path of a CSV
            file, or a data frame, with columns hypothesis, query, outcome and
            probability, and optionally prior and cost. Outcomes that a file leaves out
            have probability 0.
        prior: probability of each hypothesis, in order, by name in a mapping, or the
            path of a CSV file with columns hypothesis and prior; by default the column
            of the file, else all are equally probable.
        costs: cost of each query, in order, by name in a mapping, or the path of a CSV
            file with columns query and cost; by default the column of the file, else 1
            each.
        once: whether each query can be made once. Otherwise it may be made again, with
            an answer that is independent given the hypothesis.
        names: for an array, names of `hypotheses`, `queries` and `outcomes` in a
            mapping, or the three in a tuple. Outcomes are one list for all queries, or
            a list for each, in order or by name in a mapping.
        horizon: most queries in an episode; by default all where each is made once,
            else 40.

    Raises:
        DataError: a file or a number in it is not what it must be; the message names
            the place.
        InvalidParameterError: an argument does not fit the others.
    """
    if is_path(likelihood) or is_frame(likelihood):
        if names is not None:
            raise InvalidParameterError(
                "names are given although likelihood is a table with names of its own; "
                "leave names out."
            )
        read = _from_table(read_table(likelihood, COLUMNS, OPTIONAL, what="likelihood"))
    else:
        read = _from_array(likelihood, names)
    table, names = read.table, read.names
    _check_sizes(table, read.title)
    prior = read.prior if prior is None else prior
    costs = read.costs if costs is None else costs
    if horizon is not None and not horizon >= 1:
        raise InvalidParameterError(f"horizon must be at least 1; got {horizon}.")
    return Likelihoods(
        table=jnp.asarray(table / table.sum(axis=2, keepdims=True)),
        prior=_read_prior(prior, names.hypotheses, len(table)),
        title=read.title,
        hypothesis_names=names.hypotheses,
        query_names=names.queries,
        outcome_words=names.outcomes,
        costs=read_costs(costs, names.queries, num_queries=table.shape[1]),
        once=bool(once),
        horizon=horizon or 0,
    )


def _from_table(rows: Table) -> _Read:
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
    return _Read(
        _title(rows.name),
        table,
        Names(hypotheses, queries, tuple(tuple(words[query]) for query in queries)),
        _column(rows, "prior", "hypothesis"),
        _column(rows, "cost", "query"),
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


def _column(rows: Table, column: str, key: str) -> dict[str, float] | None:
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


def _from_array(likelihood: Any, names: Any) -> _Read:
    try:
        table = np.asarray(likelihood, float)
    except (TypeError, ValueError):
        table = _ragged(likelihood)
    if table.ndim != 3 or 0 in table.shape:
        raise InvalidParameterError(
            "likelihood must be an array of hypotheses x queries x outcomes; got "
            f"{f'the shape {table.shape}' if table.ndim else repr(likelihood)}."
        )
    names = _read_names(names, table.shape)
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
    return _Read("an array", table, names._replace(outcomes=_words(names, table)))


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


def _read_names(names: Any, shape: tuple[int, ...]) -> Names:
    if names is None:
        return Names()
    if not isinstance(names, Mapping):
        if isinstance(names, str) or len(names) > 3:
            raise InvalidParameterError(
                "names must be a mapping with hypotheses, queries and outcomes, or the "
                f"three in a tuple; got {names!r}."
            )
        names = dict(zip(_PARTS, names, strict=False))
    parts: dict[str, Any] = {}
    for key, value in names.items():
        plural = next((p for p, s in _PARTS.items() if key in (p, s)), None)
        if plural is None:
            raise InvalidParameterError(
                suggesting(
                    f"names has the key {key!r}",
                    str(key),
                    _PARTS,
                    f"its keys are {', '.join(_PARTS)}.",
                )
            )
        parts[plural] = value
    hypotheses = _list("hypotheses", parts.get("hypotheses"), shape[0])
    queries = _list("queries", parts.get("queries"), shape[1])
    outcomes = _outcome_words(parts.get("outcomes"), queries, shape)
    return Names(hypotheses, queries, outcomes)


def _list(part: str, given: Any, size: int) -> tuple[str, ...]:
    if given is None or len(given) == 0:
        return ()
    words = tuple(str(word).strip() for word in given)
    if isinstance(given, str) or len(words) != size:
        raise InvalidParameterError(
            f"names of {part} must be {size}, as the likelihood has; got {len(words)}."
        )
    for word in words:
        if not word or words.count(word) > 1:
            raise InvalidParameterError(
                f"names of {part} must differ and not be empty; got {word!r}"
                f"{' twice' if word else ''}."
            )
    return words


def _outcome_words(
    given: Any, queries: Sequence[str], shape: tuple[int, ...]
) -> tuple[tuple[str, ...], ...]:
    num_queries, num_outcomes = shape[1:]
    if given is None or len(given) == 0:
        return ()
    if isinstance(given, Mapping):
        missing = [query for query in queries if query not in given]
        if missing or len(given) != num_queries:
            raise InvalidParameterError(
                "names of outcomes must have an entry for each query; "
                f"{missing[0] if missing else list(given)[-1]!r} is missing or unknown."
            )
        given = [given[query] for query in queries]
    if all(isinstance(it, str) or not hasattr(it, "__len__") for it in given):
        return (_list("outcomes", given, num_outcomes),) * num_queries
    if len(given) != num_queries:
        raise InvalidParameterError(
            f"names of outcomes must be one list for all queries or {num_queries} "
            f"lists, one for each; got {len(given)}."
        )
    for words in given:
        if not 1 <= len(words) <= num_outcomes:
            raise InvalidParameterError(
                f"names of outcomes must be 1 to {num_outcomes} for a query, as the "
                f"likelihood has; got {len(words)}: {', '.join(map(str, words))}."
            )
    return tuple(_list("outcomes", words, len(words)) for words in given)


def _check_sizes(table: np.ndarray, title: str) -> None:
    num_hypotheses, _, num_outcomes = table.shape
    if num_hypotheses < 2:
        raise DataError(f"{title} has one hypothesis; there must be at least two.")
    if num_outcomes > MOST_OUTCOMES:
        raise DataError(
            f"{title} has a query with {num_outcomes} outcomes; there may be at most "
            f"{MOST_OUTCOMES}; join rare ones."
        )


def _read_prior(prior: Any, names: Sequence[str], size: int) -> Array:
    if prior is None:
        return jnp.full(size, 1.0 / size)
    if is_path(prior) or is_frame(prior):
        rows = read_table(prior, ("hypothesis", "prior"), what="prior")
        prior = _column(rows, "prior", "hypothesis")
    if isinstance(prior, Mapping):
        keys = names or tuple(range(size))
        unknown = [key for key in prior if key not in keys]
        missing = [key for key in keys if key not in prior]
        if unknown or missing:
            what = f"names {unknown[0]!r}" if unknown else f"lacks {missing[0]!r}"
            near = list(map(str, keys)) if unknown else []
            raise DataError(
                suggesting(
                    f"prior {what}",
                    str(unknown[0] if unknown else ""),
                    near,
                    "it must have a probability for each hypothesis.",
                )
            )
        prior = [prior[key] for key in keys]
    try:
        chances = np.asarray(prior, float)
    except (TypeError, ValueError):
        chances = np.zeros(())
    if chances.shape != (size,) or not np.all(chances >= 0):
        raise DataError(
            f"prior must be {size} probabilities, one for each hypothesis; got "
            f"{prior!r}."
        )
    if abs(chances.sum() - 1.0) > TOLERANCE:
        raise DataError(
            f"prior must sum to 1; the probabilities of the hypotheses sum to "
            f"{chances.sum():.6g}."
        )
    return jnp.asarray(chances / chances.sum())
