"""Returns of the classifier's confidence, by hand and by a loop."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.studies.digits.confidence_loss import seen_along, watkins_returns

RANDOM = np.random.default_rng(0)
STEPS, QUERIES = 5, 4
ONLINE = RANDOM.normal(size=(STEPS + 1, QUERIES)).astype(np.float32)
TARGET = RANDOM.normal(size=(STEPS + 1, QUERIES)).astype(np.float32)
REWARDS = RANDOM.normal(size=STEPS).astype(np.float32)


def found(queries, discount, trace_decay):
    return watkins_returns(
        jnp.asarray(queries),
        jnp.asarray(REWARDS),
        jnp.asarray(ONLINE),
        jnp.asarray(TARGET),
        discount=discount,
        trace_decay=trace_decay,
    )


@pytest.mark.parametrize("trace_decay", [0.0, 0.8, 1.0])
def test_returns_are_those_of_the_recursion(trace_decay):
    greedy = ONLINE.argmax(axis=1)
    queries = greedy[:-1].copy()
    queries[2] = (queries[2] + 1) % QUERIES
    later, expected = 0.0, []
    for t in reversed(range(STEPS)):
        last = t == STEPS - 1
        value = 0.0 if last else TARGET[t + 1, greedy[t + 1]]
        follows = not last and queries[t + 1] == greedy[t + 1]
        trace = trace_decay if follows else 0.0
        later = REWARDS[t] + 0.9 * ((1 - trace) * value + trace * later)
        expected.append(later)
    np.testing.assert_allclose(
        found(queries, 0.9, trace_decay), expected[::-1], rtol=1e-5, atol=1e-6
    )


def test_the_undiscounted_return_of_a_greedy_episode_is_the_rise_of_confidence():
    greedy = ONLINE.argmax(axis=1)[:-1]
    returns = found(greedy, 1.0, 1.0)
    np.testing.assert_allclose(returns[0], REWARDS.sum(), rtol=1e-5)


def test_what_was_seen_adds_up_and_a_repeated_tile_counts_twice():
    queries = jnp.array([1, 0, 1])
    outcomes = jnp.array([[9.0, 9.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    seen = seen_along(queries, outcomes, 3)
    assert seen.counts.tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 0]]
    assert seen.sums[-1].tolist() == [[3, 4], [6, 8], [0, 0]]
    assert not seen.sums[0].any()
