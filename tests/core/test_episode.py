"""The rules of an episode, case by case."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.episode import (
    STOP,
    StopReason,
    allowed_queries,
    asked_along,
    none_asked,
    why_ended,
)
from icpe.core.spec import TaskSpec

CASES = list(itertools.product([False, True], repeat=5))


def reason_by_hand(terminated, at_cap, is_budget, can_ask, stops):
    if terminated:
        return StopReason.TERMINATED
    if at_cap:
        return StopReason.BUDGET if is_budget else StopReason.HORIZON
    if not can_ask:
        return StopReason.NO_QUERY
    return StopReason.EXPLORER if stops else StopReason.RUNNING


def test_the_world_comes_first_then_the_cap_then_queries_then_the_explorer():
    terminated, at_cap, is_budget, can_ask, stops = jnp.asarray(CASES).T
    found = why_ended(
        terminated=terminated,
        num_queries=jnp.where(at_cap, 3, 2),
        cap=jnp.full(len(CASES), 3),
        is_budget=is_budget,
        can_ask=can_ask,
        stops=stops,
    )
    assert found.tolist() == [reason_by_hand(*case) for case in CASES]


@pytest.mark.parametrize("ask_once", [False, True])
def test_a_query_that_can_be_made_once_is_forbidden_afterwards(ask_once):
    spec = TaskSpec(3, 2, outcome_size=1, horizon=4, ask_once=ask_once)
    asked = none_asked(spec)
    assert (asked is not None) is ask_once
    if asked is not None:
        asked = asked.at[1].set(True)
    mask = jnp.array([True, True, False])
    assert allowed_queries(mask, asked).tolist() == [True, not ask_once, False]


def test_what_was_asked_before_each_position():
    found = asked_along(jnp.array([2, 0, STOP, STOP]), 3)
    expected = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 1], [1, 0, 1]]
    np.testing.assert_array_equal(found, np.array(expected, bool))
