"""The paper's rewards, targets and losses, by hand."""

import functools as ft
import math

import jax.numpy as jnp
import pytest

from icpe.learn.paper.losses import (
    final_reward,
    inference_loss,
    query_loss,
    query_target,
    stop_loss,
)

LOG_POSTERIOR = jnp.log(jnp.asarray([0.2, 0.7, 0.1]))
TRUTH = jnp.asarray(0)
NEXT = jnp.asarray([0.3, 0.8, 0.6])
"""Two queries, and stopping last."""


@pytest.mark.parametrize(
    "reward, expected",
    [("max", 0.7), ("truth", 0.2), ("log-truth", math.log(0.2)), ("environment", 0.0)],
)
def test_the_end_is_rewarded_in_each_form(reward, expected):
    found = final_reward(reward, LOG_POSTERIOR, TRUTH)
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_inference_is_trained_by_cross_entropy():
    loss = inference_loss(LOG_POSTERIOR, TRUTH)
    assert float(loss) == pytest.approx(-math.log(0.2))


def target(values, *, mask=None, terminal=False, **settings):
    make = ft.partial(query_target, **{"discount": 1.0, **settings})
    mask = None if mask is None else jnp.asarray(mask)
    found = make(
        jnp.asarray(-0.1), jnp.asarray(0.5), values, mask, jnp.asarray(terminal)
    )
    return pytest.approx(float(found), abs=1e-6)


def test_the_target_of_a_query_is_its_cost_and_what_comes_after():
    best = jnp.asarray([0.3, 0.8, 0.9])
    assert target(NEXT, learns_to_stop=True) == -0.1 + 0.8
    assert target(best, learns_to_stop=True) == -0.1 + 0.9
    assert target(best, learns_to_stop=False) == -0.1 + 0.8
    assert target(NEXT, learns_to_stop=True, discount=0.5) == -0.1 + 0.4


def test_at_the_end_the_reward_takes_the_place_of_the_value():
    for stops in (True, False):
        assert target(NEXT, terminal=True, learns_to_stop=stops) == -0.1 + 0.5


def test_masked_queries_do_not_count_and_at_the_end_none_is_needed():
    only_first = [True, False]
    assert target(NEXT, mask=only_first, learns_to_stop=False) == -0.1 + 0.3
    assert target(NEXT, mask=only_first, learns_to_stop=True) == -0.1 + 0.6
    nothing = [False, False]
    found = target(NEXT, mask=nothing, terminal=True, learns_to_stop=False)
    assert found == -0.1 + 0.5


def test_a_query_is_charged_with_its_own_error_and_a_stop_with_none():
    goal, query = jnp.asarray(1.0), jnp.asarray(1)
    loss = query_loss(NEXT, query, jnp.asarray(False), goal)
    assert float(loss) == pytest.approx(0.2**2)
    assert float(query_loss(NEXT, jnp.asarray(-1), jnp.asarray(True), goal)) == 0.0


def test_pretending_to_stop_trains_the_last_value():
    assert float(stop_loss(NEXT, jnp.asarray(0.7))) == pytest.approx(0.1**2)
