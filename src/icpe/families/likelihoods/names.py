"""Names of hypotheses, queries and outcomes, as they are given beside an array."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from icpe.core.errors import InvalidParameterError, suggesting

_PARTS = {"hypotheses": "hypothesis", "queries": "query", "outcomes": "outcome"}


class Names(NamedTuple):
    """Names of hypotheses, queries and the outcomes of each query; empty: numbers."""

    hypotheses: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    outcomes: tuple[tuple[str, ...], ...] = ()


def read_names(names: Any, shape: tuple[int, ...]) -> Names:
    """The names of an array of this shape; see `from_likelihoods`.

    Raises:
        InvalidParameterError: there are too many or too few, or one of them twice.
    """
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
