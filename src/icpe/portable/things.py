"""Which query is meant, where the user's problem has fewer than its family."""

from typing import Any

import numpy as np

from icpe.portable.errors import InvalidOutcomeError
from icpe.portable.reading import listed, read_query


def read_query_of(query: Any, spec: Any, mask: np.ndarray, reading: Any | None) -> int:
    """A query that the user's problem has and that the mask allows.

    Args:
        query: its number or its name.
        spec: of the family, with the user's names.
        mask: the queries that are allowed.
        reading: how outcomes in the user's units are read, None in the family's.

    Raises:
        InvalidOutcomeError: it is something else.
    """
    most = reading and reading.number_of_things
    if most:
        number = read_query(query, spec, np.ones(spec.num_queries, bool), most)
        if number >= most:
            names = spec.query_names[:most]
            named = f", or a name: {listed(names)}" if names else ""
            raise InvalidOutcomeError(
                f"query must be a whole number from 0 to {most - 1}{named}; there are "
                f"{most} of them, and {query!r} is none."
            )
    return read_query(query, spec, mask, most)
