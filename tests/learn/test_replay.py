"""The ring of episodes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP, StopReason
from icpe.core.request import OperatingPoint
from icpe.learn.replay import Experience, Replay
from icpe.play.rollout import rollout
from support.toy_tasks import Corridor, Lockers

STEPS = 4


def batch(numbers, masks=False):
    """Episodes that are told apart by their hypothesis."""
    size = len(numbers)
    return Experience(
        queries=jnp.zeros((size, STEPS), jnp.int16),
        outcomes=jnp.asarray(numbers, jnp.float32)[:, None, None]
        * jnp.ones((size, STEPS + 1, 1)),
        length=jnp.full(size, 3, jnp.int32),
        terminated=jnp.ones(size, bool),
        hypothesis=jnp.asarray(numbers, jnp.int32),
        price=jnp.zeros(size),
        max_queries=jnp.full(size, STEPS, jnp.int32),
        query_masks=jnp.ones((size, STEPS + 1, 2), bool) if masks else None,
    )


def one(batch):
    """One episode of a batch."""
    return jax.tree.map(lambda leaf: leaf[0], batch)


@eqx.filter_jit
def filled(batches):
    """A ring of four episodes, to which these were added."""
    replay = Replay.empty(one(batches[0]), capacity=4)
    for episodes in batches:
        replay = replay.add(episodes)
    return replay, replay.sample(400, key=jr.key(0)).hypothesis


def remembered(replay, size=400):
    return {int(h) for h in replay.sample(size, key=jr.key(0)).hypothesis}


@pytest.mark.slow
def test_only_what_was_added_is_drawn():
    replay = Replay.empty(one(batch([0, 0])), capacity=6)
    assert replay.capacity == 6
    replay = replay.add(batch([1, 2]))
    # Each of 4 is missed by 400 draws with probability less than 1e-49.
    assert remembered(replay) == {1, 2}
    replay = replay.add(batch([3, 4]))
    assert remembered(replay) == {1, 2, 3, 4}


def test_the_oldest_are_overwritten():
    replay, drawn = filled([batch([first, first + 1]) for first in (1, 3, 5, 7, 9)])
    assert replay.added == 10
    # Each of 4 is missed by 400 draws with probability less than 1e-49.
    assert set(np.asarray(drawn).tolist()) == {7, 8, 9, 10}


def test_an_episode_is_drawn_whole():
    replay = Replay.empty(one(batch([0, 0], masks=True)), capacity=4)
    replay = replay.add(batch([1, 2], masks=True))
    drawn = replay.sample(50, key=jr.key(1))
    np.testing.assert_array_equal(drawn.outcomes[:, 0, 0], drawn.hypothesis)
    assert drawn.query_masks is not None
    assert drawn.query_masks.shape == (50, STEPS + 1, 2)


def test_a_cropped_episode_ends_early_and_is_not_terminated_there():
    kept = batch([5]).crop(3)
    assert (kept.length[0], kept.terminated[0]) == (3, True)
    cropped = batch([5], masks=True).crop(2)
    assert (cropped.length[0], cropped.terminated[0]) == (2, False)
    assert cropped.queries.shape == (1, 2)
    assert cropped.outcomes.shape == (1, 3, 1)
    assert cropped.query_masks is not None
    assert cropped.query_masks.shape == (1, 3, 2)
    assert cropped.max_queries[0] == STEPS


@pytest.mark.parametrize(
    ("family", "masked"),
    [(Corridor(), False), (Lockers(), True)],
    ids=["terminated", "masked"],
)
def test_experience_is_what_the_transcript_tells(family, masked, wanderer):
    point = OperatingPoint.at(family.spec.horizon, price=0.25, max_queries=2)
    points = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (32,)), point)
    keys = jr.split(jr.key(0), 32)
    transcript = eqx.filter_jit(rollout)(wanderer, family, points, keys=keys)
    experience = Experience.of(transcript, points, family.spec.num_queries)
    history, ending = transcript.history, transcript.ending
    np.testing.assert_array_equal(experience.history.queries, history.queries)
    np.testing.assert_array_equal(experience.length, history.length)
    np.testing.assert_array_equal(experience.hypothesis, ending.hypothesis)
    ended = ending.stop_reason == StopReason.TERMINATED
    np.testing.assert_array_equal(experience.terminated, ended)
    assert (experience.query_masks is not None) is masked
    assert np.all(experience.price == 0.25) and np.all(experience.max_queries == 2)
    # Of 32 episodes of 2 random queries some end and some do not (1e-14).
    assert masked or 0 < np.sum(ended) < 32
    assert np.any(experience.queries == STOP)
