"""Updates in chunks: schedules by number and by time, and divergence."""

import itertools
import types

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest

from icpe.core.errors import TrainingDivergedError
from icpe.studies.digits import loop
from icpe.studies.digits.loop import descend, optimizer, run_updates


class Point(eqx.Module):
    x: jnp.ndarray


def quadratic(state, step, fraction, *, key):
    net, adam_state = state
    loss, gradient = eqx.filter_value_and_grad(lambda net: jnp.sum(net.x**2))(net)
    direction, adam_state = optimizer().update(gradient, adam_state)
    return (descend(net, direction, 0.1, step, fraction), adam_state), loss


def start():
    net = Point(jnp.array([3.0, -2.0]))
    return net, optimizer().init(eqx.filter(net, eqx.is_array))


def test_updates_go_downhill_and_are_counted(monkeypatch, optax_dtypes):
    monkeypatch.setattr(loop, "CHUNK", 50)
    (net, _), made, seconds, losses = run_updates(
        quadratic, start(), 200, key=jr.key(0), label="quadratic"
    )
    assert made == 200 and seconds > 0 and len(losses) == 4
    assert losses[-1] < losses[0] / 10
    assert jnp.abs(net.x).max() < 1.0


def test_the_schedule_ends_with_the_time(monkeypatch):
    monkeypatch.setattr(loop, "CHUNK", 10)
    clock = itertools.count(step=4)
    monkeypatch.setattr(
        loop, "time", types.SimpleNamespace(monotonic=lambda: next(clock))
    )

    def update(state, step, fraction, *, key):
        return state, fraction

    _, made, _, seen = run_updates(
        update, jnp.zeros(()), 1000, key=jr.key(0), label="clock", time_limit=10.0
    )
    assert made == 30
    assert seen == pytest.approx([0.0, 0.4, 0.8])


def test_compiling_takes_no_time_from_the_schedule(monkeypatch):
    monkeypatch.setattr(loop, "CHUNK", 10)
    clock = itertools.chain([0, 100], itertools.count(100, step=4))
    monkeypatch.setattr(
        loop, "time", types.SimpleNamespace(monotonic=lambda: next(clock))
    )
    _, made, seconds, _ = run_updates(
        lambda state, step, fraction, *, key: (state, fraction),
        jnp.zeros(()),
        1000,
        key=jr.key(0),
        label="clock",
        time_limit=10.0,
    )
    assert made == 40  # after 0, 4, 8 and 12 seconds
    assert seconds > 100


def test_a_loss_that_is_not_finite_ends_it_with_an_error():
    def diverging(state, step, fraction, *, key):
        return state, jnp.asarray(jnp.nan)

    with pytest.raises(TrainingDivergedError, match="learning_rate"):
        run_updates(diverging, jnp.zeros(()), 5, key=jr.key(0), label="bad")
