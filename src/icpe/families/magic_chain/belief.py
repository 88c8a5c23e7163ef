"""Which arm a magic chain leads to, where nothing is noisy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr, logsumexp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, Scalar
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.errors import UnsupportedError
from icpe.families.magic_chain.law import MagicChain
from icpe.theory.magic_chain_posterior import ChainRecord, chain_log_weights

_NUM_VALUES = 12
"""Nodes of the quadrature over values that exceed all seen."""


class ChainState(eqx.Module):
    """What the arms said, and how many of them are magic."""

    record: ChainRecord
    num_magic: Index


class ChainBelief(AbstractPredictiveBelief):
    """The fragments of the chain that are known, and the values of regular arms."""

    family: MagicChain

    def init(self, first_outcome: Float[Array, "outcome"]) -> ChainState:
        """Nothing pulled yet; the length of the chain is revealed where it varies."""
        family = self.family
        number = first_outcome[1] if family.vary_magic else family.num_magic
        record = ChainRecord.empty(family.num_arms)
        return ChainState(record, jnp.asarray(number).astype(jnp.int32))

    def update(
        self, state: ChainState, query: Index, outcome: Float[Array, "outcome"]
    ) -> ChainState:
        """A reward of at most 1 is a pointer, others are values on [1, 2]."""
        reward = outcome[0]
        name = jnp.round(reward * self.family.num_arms).astype(jnp.int32) - 1
        records = (
            state.record.with_name(query, name),
            state.record.with_value(query, reward - 1.0),
        )
        record = jax.tree.map(lambda *new: jnp.where(reward <= 1.0, *new), *records)
        return ChainState(record, state.num_magic)

    def log_posterior(self, state: ChainState) -> Float[Array, "hypotheses"]:
        """By counting chains."""
        return jax.nn.log_softmax(chain_log_weights(state.record, state.num_magic))

    def information_gains(self, state: ChainState) -> Float[Array, "queries"]:
        """By trying out what each arm may say.

        It names another arm, or has a value below the largest seen, which all tell
        the same, or above, by quadrature.
        """
        size = self.family.num_arms
        arms = jnp.arange(size)
        record = state.record
        known = record.magic | record.regular
        largest = jnp.max(jnp.where(record.regular, record.values, 0.0))
        nodes, weights = np.polynomial.legendre.leggauss(_NUM_VALUES)
        points = jnp.asarray((nodes + 1) / 2, largest.dtype)
        values = jnp.append(0.5 * largest, largest + (1.0 - largest) * points)
        widths = jnp.asarray(weights / 2, largest.dtype)
        widths = jnp.append(largest, (1.0 - largest) * widths)

        def weigh(record: ChainRecord) -> Float[Array, "hypotheses"]:
            return chain_log_weights(record, state.num_magic)

        def gain(arm: Index) -> Scalar:
            named = jax.vmap(lambda name: weigh(record.with_name(arm, name)))(arms)
            # No arm names itself, nor arm 0, nor what another arm has named.
            taken = jnp.any(
                record.magic[:, None] & (record.names[:, None] == arms[None, :]), axis=0
            )
            taken = taken | (arms == arm) | (arms == 0)
            named = jnp.where(taken[:, None], -jnp.inf, named)
            shown = jax.vmap(lambda value: weigh(record.with_value(arm, value)))(values)
            shown = shown + jnp.log(widths)[:, None]
            log_joint = jnp.concatenate([named, shown])
            joint = jnp.exp(log_joint - logsumexp(log_joint))
            mixed, alone = jnp.sum(joint, axis=1), jnp.sum(joint, axis=0)
            return jnp.sum(entr(mixed)) + jnp.sum(entr(alone)) - jnp.sum(entr(joint))

        gains = jnp.maximum(jax.vmap(gain)(arms), 0.0)
        return jnp.where(known, 0.0, gains)


def chain_belief(family: MagicChain) -> ChainBelief:
    """The exact belief of a chain without noise.

    Raises:
        UnsupportedError: the rewards are noisy.
    """
    if family.noise:
        raise UnsupportedError(
            f"Family 'magic-chain' has an exact belief only without noise; got noise="
            f"{family.noise}; set it to 0, or train an explorer."
        )
    return ChainBelief(family)
