"""Devices that share a batch, played here by mapped rows with a named axis."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.learn.crew import ALONE, AXIS, Crew
from icpe.learn.replay import Experience, Replay
from icpe.learn.spread_replay import SpreadReplay
from support.toy_tasks import TwoDoors

BATCH, ROWS, STEPS = 8, 3, 3


def experience(seed: int) -> Experience:
    """A batch of episodes of random content."""
    like = Experience.like(TwoDoors(horizon=STEPS).spec)
    leaves, structure = jax.tree.flatten(like)
    random = np.random.default_rng(seed)

    def draw(leaf):
        shape = (BATCH, *leaf.shape)
        if leaf.dtype == bool:
            return jnp.asarray(random.random(shape) < 0.5)
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return jnp.asarray(random.integers(-1, 3, shape), leaf.dtype)
        return jnp.asarray(random.normal(size=shape) * 10.0**seed, leaf.dtype)

    return jax.tree.unflatten(structure, [draw(leaf) for leaf in leaves])


def columns(size: int, tree):
    """The parts of the devices along a new leading axis; batches are axis 1."""
    return jax.tree.map(lambda leaf: jnp.stack(jnp.split(leaf, size, axis=1)), tree)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.slow
def test_the_same_episodes_are_drawn_on_any_number_of_devices(size):
    ring = Replay.empty(Experience.like(TwoDoors(horizon=STEPS).spec), ROWS * BATCH)
    crew = Crew(size)
    spread = SpreadReplay.of(ring, BATCH, crew, 0)
    episodes, added = columns(size, spread.episodes), spread.added
    for seed in range(4):  # one more than fit
        batch = experience(seed)
        ring = ring.add(batch)
        own = jax.tree.map(
            lambda leaf: leaf.reshape(size, BATCH // size, *leaf.shape[1:]), batch
        )

        def play(part, new, key, added=added):
            grown = SpreadReplay(part, added, crew).add(new)
            return grown.episodes, grown.sample(16, 2, key=key)

        key = jr.key(seed)
        each = jax.vmap(play, in_axes=(0, 0, None), axis_name=AXIS)
        episodes, drawn = each(episodes, own, key)
        added = added + BATCH
        whole = jax.tree.map(lambda leaf: leaf.reshape(16, *leaf.shape[2:]), drawn)
        wanted = ring.sample(16, 2, key=key)
        for one, other in zip(
            jax.tree.leaves(wanted), jax.tree.leaves(whole), strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    rows = jax.tree.map(lambda leaf: jnp.concatenate(list(leaf), axis=1), episodes)
    back = SpreadReplay(rows, added, crew).as_ring(0)
    for one, other in zip(jax.tree.leaves(ring), jax.tree.leaves(back), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_crew_divides_a_batch_and_adds_up_what_it_found():
    crew = Crew(4)
    batch = jnp.arange(8.0)

    def work(_):
        own = crew.part(batch)
        return own, crew.total({"sum": own.sum(), "pair": own}), crew.means(own)

    own, total, mean = jax.vmap(work, axis_name=AXIS)(jnp.zeros(4))
    np.testing.assert_array_equal(own.ravel(), batch)
    np.testing.assert_array_equal(total["sum"], 4 * [28.0])
    np.testing.assert_array_equal(total["pair"][0], [12.0, 16.0])
    np.testing.assert_array_equal(mean, 4 * [3.5])


def test_whoever_is_alone_does_nothing():
    batch = jnp.arange(3.0)
    assert ALONE.part(batch) is batch
    assert ALONE.total(batch) is batch
    assert float(ALONE.means(batch)) == 1.0
