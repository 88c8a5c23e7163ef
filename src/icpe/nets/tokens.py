"""What one step of a history looks like to the networks.

A token holds the query that led to it, the normalized outcome, and a running summary
of the whole history: how often each query was made and its mean outcome, or the mean
of each entry of the outcomes where these are about the same whatever the query. The
summary is a function of the earlier tokens, so it adds no information; it spares the
Transformer the arithmetic of averaging, which it does only approximately.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index


class Token(eqx.Module):
    """One token, or a sequence of them along a leading axis.

    `query` is one-hot, zeros for the first token; `summary` is None where the
    networks are built without it.
    """

    query: Float[Array, "*tokens queries"]
    outcome: Float[Array, "*tokens outcome"]
    summary: Float[Array, "*tokens features"] | None


class AbstractSummary(eqx.Module):
    """What is known of a history without its order; or of every prefix of one."""

    @classmethod
    @abc.abstractmethod
    def empty(cls, num_queries: int, outcome_size: int) -> "AbstractSummary":
        """Nothing seen yet."""

    @classmethod
    @abc.abstractmethod
    def along(
        cls,
        queries: Float[Array, "tokens queries"],
        outcomes: Float[Array, "tokens outcome"],
    ) -> "AbstractSummary":
        """The summaries after each of some (one-hot) queries, of padding nothing."""

    @abc.abstractmethod
    def add(
        self, query: Float[Array, "queries"], outcome: Float[Array, "outcome"]
    ) -> "AbstractSummary":
        """The summary after one more (one-hot) query."""

    @abc.abstractmethod
    def features(self) -> Float[Array, "*tokens features"]:
        """What the networks see of it."""

    @staticmethod
    @abc.abstractmethod
    def by_query(
        features: Float[Array, "*tokens features"], num_queries: int
    ) -> Float[Array, "*tokens queries own"]:
        """The features again, those of each query together."""


class Summary(AbstractSummary):
    """Counts and sums of normalized outcomes per query."""

    counts: Float[Array, "*tokens queries"]
    sums: Float[Array, "*tokens queries outcome"]

    @classmethod
    def empty(cls, num_queries: int, outcome_size: int) -> "Summary":
        return Summary(jnp.zeros(num_queries), jnp.zeros((num_queries, outcome_size)))

    @classmethod
    def along(
        cls,
        queries: Float[Array, "tokens queries"],
        outcomes: Float[Array, "tokens outcome"],
    ) -> "Summary":
        return cls(
            counts=jnp.cumsum(queries, axis=0),
            sums=jnp.cumsum(queries[:, :, None] * outcomes[:, None, :], axis=0),
        )

    def add(
        self, query: Float[Array, "queries"], outcome: Float[Array, "outcome"]
    ) -> "Summary":
        sums = self.sums + query[:, None] * outcome[None]
        return Summary(self.counts + query, sums)

    def features(self) -> Float[Array, "*tokens features"]:
        """Logarithm of each count, mean outcome of each query (0 if never made)."""
        means = self.sums / jnp.maximum(self.counts, 1.0)[..., None]
        flat = means.reshape(*means.shape[:-2], -1)
        return jnp.concatenate([jnp.log1p(self.counts), flat], axis=-1)

    @staticmethod
    def by_query(
        features: Float[Array, "*tokens features"], num_queries: int
    ) -> Float[Array, "*tokens queries own"]:
        """Logarithm of the count and mean outcome of each query."""
        counts, means = jnp.split(features, [num_queries], axis=-1)
        means = means.reshape(*means.shape[:-1], num_queries, -1)
        return jnp.concatenate([counts[..., None], means], axis=-1)


def deviations(
    own: Float[Array, "*tokens queries own"], spread: tuple[float, ...]
) -> Float[Array, "*tokens queries outcome"]:
    """How far the mean outcome of each query is from the average over those made.

    What all outcomes of a task have in common is taken away; 0 for queries never made.

    Args:
        own: log-count and mean outcome of each query, as `Summary.by_query` has them.
        spread: unit of each entry of the outcome.
    """
    made, means = own[..., :1] > 0, own[..., 1:]
    number = jnp.sum(made, axis=-2, keepdims=True, dtype=means.dtype)
    total = jnp.sum(jnp.where(made, means, 0.0), axis=-2, keepdims=True)
    units = jnp.asarray(spread, means.dtype).reshape((1,) * (means.ndim - 1) + (-1,))
    center = total / jnp.maximum(number, 1.0)
    return jnp.where(made, (means - center) / units, 0.0)


class EntrySummary(AbstractSummary):
    """Counts of queries, and counts and sums of each entry of flagged outcomes.

    The second half of such an outcome tells which entries of the first half were
    revealed (`TaskSpec.outcome_flags`). What an entry is about does not depend on the
    query, so it is averaged over all of them.
    """

    counts: Float[Array, "*tokens queries"]
    revealed: Float[Array, "*tokens entries"]
    sums: Float[Array, "*tokens entries"]

    @classmethod
    def empty(cls, num_queries: int, outcome_size: int) -> "EntrySummary":
        nothing = jnp.zeros(outcome_size // 2)
        return EntrySummary(jnp.zeros(num_queries), nothing, nothing)

    @classmethod
    def along(
        cls,
        queries: Float[Array, "tokens queries"],
        outcomes: Float[Array, "tokens outcome"],
    ) -> "EntrySummary":
        entries = outcomes * jnp.sum(queries, axis=1, keepdims=True)
        sums, revealed = jnp.split(jnp.cumsum(entries, axis=0), 2, axis=1)
        return cls(jnp.cumsum(queries, axis=0), revealed, sums)

    def add(
        self, query: Float[Array, "queries"], outcome: Float[Array, "outcome"]
    ) -> "EntrySummary":
        """Counts one more query and what it revealed."""
        values, flags = jnp.split(outcome * jnp.sum(query), 2)
        return EntrySummary(
            self.counts + query, self.revealed + flags, self.sums + values
        )

    def features(self) -> Float[Array, "*tokens features"]:
        """Logarithms of the counts, and the mean of each entry (0 if never seen)."""
        means = self.sums / jnp.maximum(self.revealed, 1.0)
        counts = (jnp.log1p(self.counts), jnp.log1p(self.revealed))
        return jnp.concatenate([*counts, means], axis=-1)

    @staticmethod
    def by_query(
        features: Float[Array, "*tokens features"], num_queries: int
    ) -> Float[Array, "*tokens queries own"]:
        """Both counts and the mean, where entry i is about the same as query i."""
        groups = features.reshape(*features.shape[:-1], -1, num_queries)
        return jnp.swapaxes(groups, -1, -2)


AnySummary = type[Summary] | type[EntrySummary]


def summary_size(kind: AnySummary | None, num_queries: int, outcome_size: int) -> int:
    """Number of features in a summary, 0 if there is none."""
    if kind is None:
        return 0
    first = jax.eval_shape(lambda: kind.empty(num_queries, outcome_size).features())
    return first.shape[0]


def tokens_along(
    queries: Int[Array, "steps"],
    outcomes: Float[Array, "steps+1 outcome"],
    num_queries: int,
    kind: AnySummary | None,
) -> Token:
    """The tokens of a whole history of normalized outcomes, with a kind of summary.

    Padded queries are one-hot of nothing, so they leave the summary unchanged.
    """
    made = jax.nn.one_hot(queries, num_queries)
    query = jnp.concatenate([jnp.zeros((1, num_queries)), made])
    summary = None if kind is None else kind.along(query, outcomes).features()
    return Token(query=query, outcome=outcomes, summary=summary)


def first_token(
    outcome: Float[Array, "outcome"], num_queries: int, kind: AnySummary | None
) -> tuple[Token, AbstractSummary | None]:
    """The token of what was revealed at reset, and the summary to go on with."""
    summary = None
    if kind is not None:
        summary = kind.empty(num_queries, outcome.shape[0])
    features = None if summary is None else summary.features()
    return Token(jnp.zeros(num_queries), outcome, features), summary


def token_after(
    query: Index,
    outcome: Float[Array, "outcome"],
    num_queries: int,
    summary: AbstractSummary | None,
) -> tuple[Token, AbstractSummary | None]:
    """The token of one more step, and the summary that includes it."""
    one_hot = jax.nn.one_hot(query, num_queries)
    if summary is not None:
        summary = summary.add(one_hot, outcome)
    features = None if summary is None else summary.features()
    return Token(one_hot, outcome, features), summary
