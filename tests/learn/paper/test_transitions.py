"""Every transition of every episode can be drawn, each equally often."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.spec import TaskSpec
from icpe.learn.paper.transitions import (
    num_transitions,
    sample_transitions,
    transition_at,
)
from icpe.learn.replay import Experience, Replay

STEPS = 3
SPEC = TaskSpec(num_queries=2, num_hypotheses=3, outcome_size=1, horizon=STEPS)
take = jax.jit(transition_at, static_argnums=2)


def episode(length, *, terminated=False, max_queries=STEPS, masks=None, hypothesis=0):
    """Query t is t, its outcome t + 1; what comes after the end must not be seen."""
    return Experience(
        queries=jnp.arange(STEPS, dtype=jnp.int16),
        outcomes=jnp.arange(STEPS + 1.0)[:, None],
        length=jnp.asarray(length),
        terminated=jnp.asarray(terminated),
        hypothesis=jnp.asarray(hypothesis),
        price=jnp.zeros(()),
        max_queries=jnp.asarray(max_queries),
        query_masks=masks,
    )


ENDED_BY = {
    # length, what ended it, transitions, whether the last query is terminal
    "a stop": (episode(2), 3, False),
    "a stop at once": (episode(0), 1, False),
    "the horizon": (episode(3), 3, True),
    "a budget": (episode(2, max_queries=2), 2, True),
    "the family": (episode(2, terminated=True), 2, True),
    "a lack of queries": (
        episode(2, masks=jnp.asarray([[1, 1], [1, 0], [0, 0], [1, 1]], bool)),
        2,
        True,
    ),
    "a stop in spite of queries left": (
        episode(2, masks=jnp.asarray([[1, 1], [1, 0], [0, 1], [1, 1]], bool)),
        3,
        False,
    ),
}


@pytest.mark.parametrize("episode, count, terminal", ENDED_BY.values(), ids=ENDED_BY)
def test_an_episode_has_a_transition_per_query_and_one_for_its_own_stop(
    episode, count, terminal
):
    batch = jax.tree.map(lambda leaf: leaf[None], episode)
    assert int(num_transitions(batch, SPEC)[0]) == count
    length = int(episode.length)
    for step in range(count):
        found = take(episode, jnp.asarray(step), SPEC)
        made = step < length
        assert int(found.action) == (step if made else STOP)
        assert bool(found.stopped) == (not made)
        after = step + 1 if made else step
        assert (int(found.before.length), int(found.after.length)) == (step, after)
        assert bool(found.terminal) == (terminal and after == length)
        for history, end in ((found.before, step), (found.after, after)):
            queries = [t if t < end else STOP for t in range(STEPS)]
            np.testing.assert_array_equal(history.queries, queries)
            outcomes = [float(t) if t <= end else 0.0 for t in range(STEPS + 1)]
            np.testing.assert_array_equal(history.outcomes[:, 0], outcomes)
        assert float(found.last_outcome[0]) == after
        if episode.query_masks is not None:
            assert found.query_mask is not None
            expected = episode.query_masks[after]
            np.testing.assert_array_equal(found.query_mask, expected)


def test_transitions_are_drawn_uniformly_from_the_episodes_that_were_added():
    lengths = [2, 0, 3]
    batch = jax.tree.map(
        lambda *leaves: jnp.stack(leaves),
        *(episode(n, hypothesis=i) for i, n in enumerate(lengths)),
    )
    replay = Replay.empty(episode(0), capacity=6).add(batch)
    size = 21_000
    drawn = eqx.filter_jit(sample_transitions)(replay, SPEC, size, key=jr.key(0))
    counts = np.zeros((3, STEPS + 1), int)
    np.add.at(counts, (drawn.hypothesis, drawn.before.length), 1)
    expected = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0]], bool)
    np.testing.assert_array_equal(counts > 0, expected)
    # Seven cells of 3000, standard deviation 51: five of them, false alarm below 1e-5.
    assert np.all(np.abs(counts[expected] - size / 7) < 5 * 51)
