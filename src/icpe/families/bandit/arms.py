"""The law of arms up to their means: all that methods without the prior know.

Such methods count rewards and compare sample means. What depends on the law is here:
which rewards an outcome reveals, how strong the evidence for the leader is, how much is
enough, and which proportions of queries are optimal.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, Scalar
from icpe.families.bandit.rewards import Means, RewardSums
from icpe.theory.characteristic_time import (
    CharacteristicTime,
    bernoulli_characteristic_time,
    bernoulli_evidence,
    gaussian_characteristic_time,
    gaussian_evidence,
)
from icpe.theory.feedback_graph_time import feedback_graph_time
from icpe.theory.thresholds import bernoulli_threshold, gaussian_threshold


class Seen(eqx.Module):
    """Rewards seen of each arm, and how often each query was made."""

    counts: Float[Array, "arms"]
    sums: Float[Array, "arms"]
    pulls: Int[Array, "queries"]

    @property
    def is_seen(self) -> Bool[Array, "arms"]:
        """Which arms have paid a reward."""
        return self.counts > 0

    @property
    def means(self) -> Float[Array, "arms"]:
        """Sample means; of an arm without rewards, the least of the others."""
        means = self.sums / jnp.maximum(self.counts, 1.0)
        lowest = jnp.min(jnp.where(self.is_seen, means, jnp.inf))
        lowest = jnp.where(jnp.isfinite(lowest), lowest, 0.0)
        return jnp.where(self.is_seen, means, lowest)

    @property
    def leader(self) -> Index:
        """The arm with the largest sample mean, among those seen."""
        return jnp.argmax(jnp.where(self.is_seen, self.means, -jnp.inf))


class AbstractArms(eqx.Module):
    """Arms whose rewards have a known law but unknown means."""

    num_arms: eqx.AbstractVar[int]

    def nothing(self, dtype) -> Seen:
        """Before the first query."""
        zeros = jnp.zeros(self.num_arms, dtype)
        return Seen(zeros, zeros, jnp.zeros(self.num_arms, jnp.int32))

    def see(self, seen: Seen, query: Index, outcome: Float[Array, "outcome"]) -> Seen:
        """After one more outcome."""
        made = jnp.arange(self.num_arms) == query
        rewards = self.rewards(query, outcome)
        return Seen(
            seen.counts + rewards.counts.astype(seen.counts.dtype),
            seen.sums + rewards.sums,
            seen.pulls + made.astype(jnp.int32),
        )

    @abc.abstractmethod
    def rewards(self, query: Index, outcome: Float[Array, "outcome"]) -> RewardSums:
        """The rewards that an outcome reveals."""

    @abc.abstractmethod
    def time(self, seen: Seen) -> Scalar:
        """The time t of the thresholds."""

    @abc.abstractmethod
    def evidence(self, seen: Seen) -> Float[Array, "arms"]:
        """Likelihood ratio of the leader against each rival; infinite for itself."""

    @abc.abstractmethod
    def valid_threshold(
        self, seen: Seen, error_prob: Scalar
    ) -> Float[Array, "arms"] | Scalar:
        """Evidence against each rival that is provably enough."""

    @abc.abstractmethod
    def characteristic_time(self, means: Means) -> CharacteristicTime:
        """T* in queries, and the optimal proportions of queries, of given means."""


class GaussianArms(AbstractArms):
    """Gaussian rewards of one known noise."""

    num_arms: int = eqx.field(static=True)
    noise: float = eqx.field(static=True)

    def rewards(self, query: Index, outcome: Float[Array, "outcome"]) -> RewardSums:
        """One reward, of the arm pulled."""
        return RewardSums.none(self.num_arms, outcome.dtype).add(query, outcome[0])

    def time(self, seen: Seen) -> Scalar:
        return jnp.sum(seen.counts)

    def evidence(self, seen: Seen) -> Float[Array, "arms"]:
        """n_a n_b / (n_a + n_b) gap^2 / (2 noise^2)."""
        return gaussian_evidence(seen.counts, seen.means, self.noise)

    def valid_threshold(self, seen: Seen, error_prob: Scalar) -> Float[Array, "arms"]:
        """Kaufmann and Koolen 2021, Corollary 10, for each pair."""
        own = jnp.broadcast_to(seen.counts[seen.leader], seen.counts.shape)
        return gaussian_threshold(own, seen.counts, self.num_arms, error_prob)

    def characteristic_time(self, means: Means) -> CharacteristicTime:
        return gaussian_characteristic_time(means, self.noise)


class BernoulliArms(AbstractArms):
    """Successes and failures; a query shows an arm to `batch_size` visitors."""

    num_arms: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)

    def rewards(self, query: Index, outcome: Float[Array, "outcome"]) -> RewardSums:
        """A reward for each visitor."""
        one = RewardSums.none(self.num_arms, outcome.dtype).add(query, outcome[0])
        return RewardSums(one.counts * self.batch_size, one.sums)

    def time(self, seen: Seen) -> Scalar:
        return jnp.sum(seen.counts)

    def evidence(self, seen: Seen) -> Float[Array, "arms"]:
        """Twice the binary entropy, pooled and apart."""
        return bernoulli_evidence(seen.counts, seen.means)

    def valid_threshold(self, seen: Seen, error_prob: Scalar) -> Scalar:
        """Garivier and Kaufmann 2016, Theorem 10."""
        return bernoulli_threshold(self.time(seen), self.num_arms, error_prob)

    def characteristic_time(self, means: Means) -> CharacteristicTime:
        """A query shows a whole batch."""
        one = bernoulli_characteristic_time(means)
        return CharacteristicTime(one.time / self.batch_size, one.proportions)


class GraphArms(AbstractArms):
    """Gaussian rewards that are revealed along the edges of a feedback graph."""

    num_arms: int = eqx.field(static=True)
    noise: float = eqx.field(static=True)
    edges: tuple[tuple[float, ...], ...] = eqx.field(static=True)

    @property
    def graph(self) -> Float[np.ndarray, "queries arms"]:
        """Probability that each query reveals each arm."""
        return np.asarray(self.edges)

    def rewards(self, query: Index, outcome: Float[Array, "outcome"]) -> RewardSums:
        return RewardSums.none(self.num_arms, outcome.dtype).add_revealed(outcome)

    def time(self, seen: Seen) -> Scalar:
        return jnp.sum(seen.pulls).astype(seen.sums.dtype)

    def evidence(self, seen: Seen) -> Float[Array, "arms"]:
        """As for Gaussian arms, with the rewards revealed."""
        return gaussian_evidence(seen.counts, seen.means, self.noise)

    def valid_threshold(self, seen: Seen, error_prob: Scalar) -> Float[Array, "arms"]:
        """As for Gaussian arms: how a reward came to be seen does not matter."""
        own = jnp.broadcast_to(seen.counts[seen.leader], seen.counts.shape)
        return gaussian_threshold(own, seen.counts, self.num_arms, error_prob)

    def characteristic_time(self, means: Means) -> CharacteristicTime:
        graph = jnp.asarray(self.graph, means.dtype)
        return feedback_graph_time(means, graph, self.noise)


PlainArms = GaussianArms | BernoulliArms
