"""What one step of a history looks like to the networks.

A token holds the query that led to it, the normalized outcome, and a running summary
of the whole history: how often each query was made and its mean outcome. The summary
is a function of the earlier tokens, so it adds no information; it spares the
Transformer the arithmetic of averaging, which it does only approximately.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from icpe.types import Index


class Token(eqx.Module):
    """One token, or a sequence of them along a leading axis.

    `query` is one-hot, zeros for the first token; `summary` is None where the
    networks are built without it.
    """

    query: Float[Array, "*tokens queries"]
    outcome: Float[Array, "*tokens outcome"]
    summary: Float[Array, "*tokens features"] | None


class Summary(eqx.Module):
    """Counts and sums of normalized outcomes per query."""

    counts: Float[Array, "*tokens queries"]
    sums: Float[Array, "*tokens queries outcome"]

    @staticmethod
    def empty(num_queries: int, outcome_size: int) -> "Summary":
        """Nothing seen yet."""
        return Summary(jnp.zeros(num_queries), jnp.zeros((num_queries, outcome_size)))

    def add(
        self, query: Float[Array, "queries"], outcome: Float[Array, "outcome"]
    ) -> "Summary":
        """The summary after one more (one-hot) query."""
        return Summary(self.counts + query, self.sums + query[:, None] * outcome[None])

    def features(self) -> Float[Array, "*tokens features"]:
        """Logarithm of each count, mean outcome of each query (0 if never made)."""
        means = self.sums / jnp.maximum(self.counts, 1.0)[..., None]
        flat = means.reshape(*means.shape[:-2], -1)
        return jnp.concatenate([jnp.log1p(self.counts), flat], axis=-1)


def summary_size(num_queries: int, outcome_size: int) -> int:
    """Number of features in a summary."""
    return num_queries * (1 + outcome_size)


def tokens_along(
    queries: Int[Array, "steps"],
    outcomes: Float[Array, "steps+1 outcome"],
    num_queries: int,
    *,
    with_summary: bool,
) -> Token:
    """The tokens of a whole history of normalized outcomes.

    Padded queries are one-hot of nothing, so they leave the summary unchanged.
    """
    made = jax.nn.one_hot(queries, num_queries)
    query = jnp.concatenate([jnp.zeros((1, num_queries)), made])
    summary = None
    if with_summary:
        summary = Summary(
            counts=jnp.cumsum(query, axis=0),
            sums=jnp.cumsum(query[:, :, None] * outcomes[:, None, :], axis=0),
        ).features()
    return Token(query=query, outcome=outcomes, summary=summary)


def token_after(
    query: Index, outcome: Float[Array, "outcome"], num_queries: int, summary
) -> tuple[Token, Summary | None]:
    """The token of one more step, and the summary that includes it."""
    one_hot = jax.nn.one_hot(query, num_queries)
    if summary is not None:
        summary = summary.add(one_hot, outcome)
    features = None if summary is None else summary.features()
    return Token(one_hot, outcome, features), summary
