"""Which arm of a deterministic magic chain is best: the exact posterior.

Arm 0 is the first of n magic arms; each names the next, the last names the best of the
other, regular arms, whose values are independent and uniform on [0, 1]. The order is
uniformly random. What the magic arms said so far are fragments of the chain, each of
which ends in a tip: an arm that is named but is not a pulled magic arm (arm 0 itself
before it is pulled). The configurations that agree with this, with a given arm at the
end, are counted as in `magic_chain_knowledge`; each is weighted with the probability
that the values agree with its best arm, as in `magic_chain_frontier`.
"""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Flag, Index, Scalar


class ChainRecord(eqx.Module):
    """What each arm said.

    `names[a]` is the arm that the magic arm a named, `values[a]` the value of the
    regular arm a; both are ignored where the arm is not marked as such.
    """

    magic: Bool[Array, "arms"]
    regular: Bool[Array, "arms"]
    names: Int[Array, "arms"]
    values: Float[Array, "arms"]

    @staticmethod
    def empty(num_arms: int) -> "ChainRecord":
        nothing = jnp.zeros(num_arms, bool)
        return ChainRecord(
            nothing, nothing, jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms)
        )

    def with_name(self, arm: Index, name: Index) -> "ChainRecord":
        """The record after a magic arm named another."""
        here = jnp.arange(self.magic.shape[0]) == arm
        names = jnp.where(here, name.astype(jnp.int32), self.names)
        return ChainRecord(self.magic | here, self.regular, names, self.values)

    def with_value(self, arm: Index, value: Scalar) -> "ChainRecord":
        """The record after a regular arm showed its value."""
        here = jnp.arange(self.magic.shape[0]) == arm
        values = jnp.where(here, value, self.values)
        return ChainRecord(self.magic, self.regular | here, self.names, values)


def chain_log_weights(
    record: ChainRecord, num_magic: Index
) -> Float[Array, "hypotheses"]:
    """Log of the number of configurations with each best arm, times their chances.

    Normalized, it is the posterior; its sum is the probability density of the record,
    up to a constant that is the same for all records of one chain, and 0 if no chain
    agrees with the record. No arm may be named twice.
    """
    parts = _parts(record, num_magic)
    num_unseen = parts.num_unseen_regular
    largest = jnp.max(jnp.where(record.regular, record.values, 0.0))
    log_seen = jnp.where(num_unseen > 0, num_unseen * jnp.log(largest), 0.0)
    log_unseen = jnp.log(-jnp.expm1(log_seen)) - jnp.log(jnp.maximum(num_unseen, 1.0))

    blocks, singles, fresh = parts.num_blocks, parts.singles, parts.fresh
    is_leader = record.regular & (record.values == largest)
    at_tip = _log_orders(blocks - 1, singles, fresh)
    at_fresh = _log_orders(blocks, singles - 1, fresh - 1) + log_unseen
    at_leader = _log_orders(blocks, singles - 1, fresh) + log_seen
    whole = jnp.where((blocks == 0) & (singles == 0), 0.0, -jnp.inf)
    arms = jnp.arange(record.magic.shape[0])
    at_tip = jnp.where(arms == parts.first_tip, whole, at_tip)
    seen_tip = jnp.where(is_leader, log_seen, -jnp.inf)
    at_tip = at_tip + jnp.where(record.regular, seen_tip, log_unseen)

    # A regular arm that was named is the best, whatever else is known.
    settled = parts.is_tip & record.regular
    weights = jnp.where(is_leader, at_leader, -jnp.inf)
    weights = jnp.where(parts.is_fresh, at_fresh, weights)
    weights = jnp.where(parts.is_tip, at_tip, weights)
    excluded = (jnp.any(settled) & ~settled) | parts.has_circle
    return jnp.where(excluded, -jnp.inf, weights)


class _Parts(eqx.Module):
    """The fragments of the chain; numbers are floats, for logarithms.

    `first_tip` is the tip of the fragment that starts at arm 0. `num_blocks` counts
    the other fragments, `singles` the places in the chain that none of them fills and
    `fresh` the arms of which nothing is known, marked in `is_fresh`. A circle of names
    is impossible.
    """

    first_tip: Index
    is_tip: Bool[Array, "arms"]
    is_fresh: Bool[Array, "arms"]
    num_blocks: Scalar
    singles: Scalar
    fresh: Scalar
    num_unseen_regular: Scalar
    has_circle: Flag


def _parts(record: ChainRecord, num_magic: Index) -> _Parts:
    size = record.magic.shape[0]
    arms = jnp.arange(size, dtype=jnp.int32)

    # Where each arm's names lead to, by doubling the steps.
    end = jnp.where(record.magic, record.names, arms)
    for _ in range(size.bit_length()):
        end = end[end]
    first_tip = end[0]
    first = jnp.sum(record.magic & (end == first_tip), dtype=jnp.int32)
    is_named = jnp.any(
        record.magic[:, None] & (record.names[:, None] == arms[None, :]), axis=0
    )
    is_tip = (is_named | (arms == first_tip)) & ~record.magic
    num_blocks = jnp.sum(is_tip & (arms != first_tip), dtype=jnp.int32)
    is_fresh = ~is_tip & ~record.magic & ~record.regular
    others = jnp.sum(record.magic, dtype=jnp.int32) - first + num_blocks
    num_unseen = size - num_magic - jnp.sum(record.regular, dtype=jnp.int32)

    def number(count) -> Scalar:
        return count.astype(record.values.dtype)

    return _Parts(
        first_tip=first_tip,
        is_tip=is_tip,
        is_fresh=is_fresh,
        num_blocks=number(num_blocks),
        singles=number(num_magic - first - others),
        fresh=number(jnp.sum(is_fresh)),
        num_unseen_regular=number(num_unseen),
        has_circle=jnp.any(record.magic[end]),
    )


def _log_orders(num_blocks: Scalar, singles: Scalar, fresh: Scalar) -> Scalar:
    """Log of the ways to put blocks and `singles` of the fresh arms in a row."""
    possible = (num_blocks >= 0) & (singles >= 0) & (fresh >= singles)
    b, s = jnp.maximum(num_blocks, 0.0), jnp.maximum(singles, 0.0)
    f = jnp.maximum(fresh, s)
    places = gammaln(b + s + 1) - gammaln(s + 1)
    choices = gammaln(f + 1) - gammaln(f - s + 1)
    return jnp.where(possible, places + choices, -jnp.inf)
