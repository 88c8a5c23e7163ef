"""Replay whose episodes are spread over devices: each keeps those that it played.

Seen from outside, the episodes of a ring are laid out in rows, one for each batch, and
every device has some columns. So a batch is added without a message. Which episodes are
drawn depends on their places in the ring alone, never on the number of devices.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Int, Shaped, UInt8

from icpe.core.arrays import PRNGKey
from icpe.learn.crew import AXIS, Crew
from icpe.learn.replay import Experience, Replay


class SpreadReplay(eqx.Module):
    """A ring of episodes, of which each device of the crew holds some columns."""

    episodes: Experience
    added: Int[Array, ""]
    crew: Crew = eqx.field(static=True)

    @staticmethod
    def of(replay: Replay, batch_size: int, crew: Crew, axis: int) -> "SpreadReplay":
        """The same episodes in rows of a batch; `axis` is that of the ring."""

        def in_rows(leaf):
            shape = leaf.shape
            return leaf.reshape(*shape[:axis], -1, batch_size, *shape[axis + 1 :])

        return SpreadReplay(jax.tree.map(in_rows, replay.episodes), replay.added, crew)

    def as_ring(self, axis: int) -> Replay:
        """The same episodes in one row, as checkpoints keep them."""

        def in_one_row(leaf):
            shape = leaf.shape
            return leaf.reshape(*shape[:axis], -1, *shape[axis + 2 :])

        return Replay(jax.tree.map(in_one_row, self.episodes), self.added)

    def add(self, batch: Experience) -> "SpreadReplay":
        """Overwrites this device's part of the oldest batch."""
        rows, each = self.episodes.length.shape
        row = (self.added // (each * self.crew.size)) % rows
        episodes = jax.tree.map(
            lambda ring, new: lax.dynamic_update_slice_in_dim(ring, new[None], row, 0),
            self.episodes,
            batch,
        )
        return SpreadReplay(episodes, self.added + each * self.crew.size, self.crew)

    def sample(self, size: int, num_steps: int, *, key: PRNGKey) -> Experience:
        """This device's part of what `Replay.sample` draws, in one message."""
        rows, each = self.episodes.length.shape
        width = each * self.crew.size
        filled = jnp.minimum(self.added, rows * width)
        index = jr.randint(key, (size,), 0, filled)
        column = index % width - lax.axis_index(AXIS) * each
        is_own = (column >= 0) & (column < each)
        place = (index // width, jnp.clip(column, 0, each - 1))
        found = jax.tree.map(lambda ring: ring[place], self.episodes.crop(num_steps))
        words = jnp.where(is_own[:, None], _packed(found), 0)
        own = lax.psum_scatter(words, AXIS, scatter_dimension=0, tiled=True)
        return _unpacked(own, found)


def _packed(batch: Experience) -> Int[Array, "episodes words"]:
    """All that is known of each episode as a row of words, of which none is lost."""
    leaves = [_bytes(leaf) for leaf in jax.tree.leaves(batch)]
    row = jnp.concatenate(leaves, axis=1)
    row = jnp.pad(row, [(0, 0), (0, -row.shape[1] % 4)])
    return lax.bitcast_convert_type(row.reshape(row.shape[0], -1, 4), jnp.int32)


def _unpacked(words: Int[Array, "part words"], like: Experience) -> Experience:
    leaves, structure = jax.tree.flatten(like)
    row = lax.bitcast_convert_type(words, jnp.uint8).reshape(words.shape[0], -1)
    values, first = [], 0
    for leaf in leaves:
        shape = leaf.shape[1:]
        last = first + leaf.dtype.itemsize * math.prod(shape)
        values.append(_values(row[:, first:last], shape, leaf.dtype))
        first = last
    return jax.tree.unflatten(structure, values)


def _bytes(leaf: Shaped[Array, "episodes ..."]) -> UInt8[Array, "episodes bytes"]:
    if leaf.dtype == jnp.bool_:
        return leaf.astype(jnp.uint8).reshape(leaf.shape[0], -1)
    return lax.bitcast_convert_type(leaf, jnp.uint8).reshape(leaf.shape[0], -1)


def _values(row: UInt8[Array, "part bytes"], shape: tuple[int, ...], dtype):
    if dtype == jnp.bool_:
        return row.reshape(-1, *shape).astype(bool)
    return lax.bitcast_convert_type(row.reshape(-1, *shape, dtype.itemsize), dtype)
