"""The record of one episode: queries and outcomes, padded to the horizon."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class History(eqx.Module):
    """Queries made and outcomes seen, with fixed capacity.

    `outcomes[0]` is what the family revealed at reset; `outcomes[t + 1]` answers
    `queries[t]`. Entries from `length` on are padding. A batch of records has
    leading axes.
    """

    queries: Int[Array, "*batch steps"]
    outcomes: Float[Array, "*batch steps+1 outcome"]
    length: Int[Array, "*batch"]

    @property
    def made(self) -> Bool[Array, "*batch steps"]:
        """Which queries were really made."""
        steps = jnp.arange(self.queries.shape[-1], dtype=self.length.dtype)
        steps = jnp.broadcast_to(steps, self.queries.shape)
        return steps < jnp.expand_dims(self.length, -1)
