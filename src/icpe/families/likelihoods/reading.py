"""From an array, a CSV file or a data frame of probabilities to a family."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from icpe.core.errors import DataError, InvalidParameterError, suggesting
from icpe.families.csv_files import (
    is_frame,
    is_path,
    read_costs,
    read_table,
)
from icpe.families.likelihoods.arrays import from_array
from icpe.families.likelihoods.law import Likelihoods
from icpe.families.likelihoods.rows import COLUMNS, OPTIONAL, by_name, from_rows
from icpe.families.likelihoods.stated import TOLERANCE

MOST_OUTCOMES = 64
"""Of one query."""


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
        read = from_rows(read_table(likelihood, COLUMNS, OPTIONAL, what="likelihood"))
    else:
        read = from_array(likelihood, names)
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
        prior = by_name(rows, "prior", "hypothesis")
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
