"""What a step reads and gives beside the state."""

import equinox as eqx
from jaxtyping import Array, Float

from icpe.core.arrays import Index, Scalar

NOTHING = -1
"""The query of the first step, which reads what the task reveals before any query."""


class Told(eqx.Module):
    """What a step reads beside the state."""

    query: Index
    outcome: Float[Array, "outcome"]
    price: Scalar
    max_queries: Index
    position: Index


class Reply(eqx.Module):
    """What a step gives beside the state.

    The allowed query of largest `ranking` is asked next; the explorer stops if the
    `gain` of that query is not positive.
    """

    log_posterior: Float[Array, "hypotheses"]
    ranking: Float[Array, "queries"]
    gain: Float[Array, "queries"]
