"""What a step reads and gives beside the state."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PyTree, Scalar

NOTHING = -1
"""The query of the first step, which reads what the task reveals before any query."""


class Told(eqx.Module):
    """What a step reads beside the state."""

    query: Index
    outcome: Float[Array, "outcome"]
    price: Scalar
    max_queries: Index
    position: Index

    def next_state(
        self,
        start: Callable[[Float[Array, "outcome"]], PyTree],
        update: Callable[[Index, Float[Array, "outcome"]], PyTree],
    ) -> PyTree:
        """`start` of the outcome in the first step, `update` by it in later ones.

        The types are those of `start`.
        """
        first = start(self.outcome)
        later = update(jnp.maximum(self.query, 0), self.outcome)
        return jax.tree.map(
            lambda a, b: jnp.where(
                self.query == NOTHING, a, jnp.asarray(b, jnp.asarray(a).dtype)
            ),
            first,
            later,
        )


class Reply(eqx.Module):
    """What a step gives beside the state.

    The allowed query of largest `ranking` is asked next; the explorer stops if the
    `gain` of that query is not positive.
    """

    log_posterior: Float[Array, "hypotheses"]
    ranking: Float[Array, "queries"]
    gain: Float[Array, "queries"]
