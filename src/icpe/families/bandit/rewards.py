"""Rewards of arms: their sums, and which of them an outcome reveals."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, Scalar

Means = Float[Array, "arms"]


class RewardSums(eqx.Module):
    """Rewards seen of each arm, and their sum."""

    counts: Int[Array, "arms"]
    sums: Float[Array, "arms"]

    @staticmethod
    def none(num_arms: int, dtype) -> "RewardSums":
        return RewardSums(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms, dtype))

    def add(self, arm: Index, reward: Scalar) -> "RewardSums":
        pulled = jnp.arange(self.counts.shape[0]) == arm
        return RewardSums(
            self.counts + pulled.astype(jnp.int32),
            self.sums + jnp.where(pulled, reward, 0.0),
        )

    def add_revealed(self, outcome: Float[Array, "outcome"]) -> "RewardSums":
        """The rewards in an outcome: first all of them, then flags of the revealed."""
        num_arms = self.counts.shape[0]
        revealed = outcome[num_arms:] > 0.5
        return RewardSums(
            self.counts + revealed.astype(jnp.int32),
            self.sums + jnp.where(revealed, outcome[:num_arms], 0.0),
        )


def arm_names(num_arms: int) -> tuple[str, ...]:
    """Names of arms for people."""
    return tuple(f"arm {i}" for i in range(num_arms))
