"""What the networks look at: a history, what predictions say of it, and the request."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PyTree
from icpe.nets.evidence import AbstractPredictions, Told
from icpe.nets.tokens import Token


class Asked(eqx.Module):
    """What is asked at each position: the price, 0 for a budget, and queries left."""

    price: Float[Array, "*#tokens"]
    remaining: Int[Array, "*tokens"]

    def unit(self, error: Float[Array, "*tokens"]) -> Float[Array, "*tokens"]:
        """What one unit of cost is worth: its price, or its share of a budget.

        A query of a budget that is wasted costs about one of the queries left.
        """
        left = jnp.maximum(self.remaining, 0).astype(error.dtype)
        of_budget = 0.5 * error / (left + 1.0)
        price = jnp.broadcast_to(self.price, error.shape)
        return jnp.where(price > 0, price, of_budget)


class Seen(eqx.Module):
    """All of a batch of histories that the networks look at."""

    tokens: Token
    told: Told | None


class Predicted(eqx.Module):
    """What predictions need of a history: their state, and queries made."""

    state: PyTree
    counts: Float[Array, "*tokens queries"]

    @staticmethod
    def start(
        predictions: AbstractPredictions,
        num_queries: int,
        first_outcome: Float[Array, "outcome"],
    ) -> "Predicted":
        """Before the first query."""
        return Predicted(predictions.start(first_outcome), jnp.zeros(num_queries))

    def after(
        self,
        predictions: AbstractPredictions,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> "Predicted":
        """After one more outcome."""
        made = jnp.arange(self.counts.shape[0]) == query
        return Predicted(
            predictions.update(self.state, query, outcome),
            self.counts + made.astype(self.counts.dtype),
        )

    def told(self, predictions: AbstractPredictions) -> Told:
        """What follows for hypotheses and queries."""
        return predictions.told(self.state, self.counts)
