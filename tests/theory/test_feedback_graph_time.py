import time
from typing import Any, cast

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.theory.characteristic_time import gaussian_characteristic_time
from icpe.theory.feedback_graph_time import feedback_graph_time
from icpe.theory.graph_game import Game, play_graph_game

NOISE = 0.2


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def star(size, p=0.25, q=0.3, r=0.35):
    graph = np.eye(size) * max(0.0, 1 - 2 * p)
    graph[0] = r
    graph[0, 0], graph[0, -1], graph[-1, -1] = q, p, 1 - p
    return graph


def ring(size, p=0.3):
    step = np.roll(np.eye(size), 1, axis=1)
    return p * step + (1 - p) * step.T


def clique(size, p=0.5):
    rows = p / np.arange(1, size + 1)[:, None]
    graph = np.where(np.arange(size) % 2 == 1, rows, 1 - rows)
    return graph * (1 - np.eye(size))


def sparse(size):
    rng = np.random.default_rng(size)
    shape = (size, size)
    return rng.uniform(size=shape) * (rng.uniform(size=shape) < 0.4) + np.eye(size) / 10


def oracle(means, graph):
    best = int(np.argmax(means))
    rates = (means[best] - means) ** 2 / (2 * NOISE**2)
    scale = np.min(np.delete(rates, best))
    weights, level = cvxpy.Variable(len(graph), nonneg=True), cvxpy.Variable()
    seen = graph.T @ weights
    constraints: list[Any] = [cvxpy.sum(weights) == 1]
    for arm in range(len(means)):
        if arm != best:
            both = seen[best] + seen[arm]
            shared = seen[best] - cvxpy.quad_over_lin(seen[best], both)
            constraints.append(level <= shared * rates[arm] / scale)
    problem = cvxpy.Problem(cvxpy.Maximize(level), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return 1 / (cast(float, problem.value) * scale)


@pytest.mark.parametrize("graph", [star(6), ring(6), clique(6), sparse(6)])
def test_time_agrees_with_convex_programming(graph):
    rng = np.random.default_rng(3)
    many = [*rng.uniform(size=(4, 6)), np.where(np.arange(6) == 2, 1.0, 0.5)]
    for means in many:
        got = feedback_graph_time(jnp.asarray(means), jnp.asarray(graph), NOISE)
        assert float(got.time) == pytest.approx(oracle(means, graph), rel=1e-6)
        assert float(jnp.sum(got.proportions)) == pytest.approx(1.0, rel=1e-12)
        assert float(jnp.min(got.proportions)) >= 0.0


@pytest.mark.slow
def test_times_agree_on_two_hundred_random_instances():
    """To 1e-6. The proportions need not be unique, but must attain the time."""
    rng = np.random.default_rng(7)
    kinds = [star, ring, clique, sparse]
    for i in range(200):
        size = int(rng.integers(4, 9))
        graph, means = kinds[i % 4](size), rng.uniform(size=size)
        got = feedback_graph_time(jnp.asarray(means), jnp.asarray(graph), NOISE)
        assert float(got.time) == pytest.approx(oracle(means, graph), rel=1e-6)
        seen = np.asarray(got.proportions) @ graph
        best = int(np.argmax(means))
        rates = (means[best] - means) ** 2 / (2 * NOISE**2)
        shared = seen[best] * seen / (seen[best] + seen)
        attained = np.delete(rates * shared, best).min()
        assert attained * float(got.time) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.slow
def test_a_thousand_cheap_decisions_take_less_than_fifty_microseconds_each():
    """The steps that tracking makes at every query, for 14 arms."""
    with jax.enable_x64(False):
        graph = jnp.asarray(clique(14), jnp.float32)
        means = jnp.asarray(np.random.default_rng(0).uniform(size=(1000, 14)))
        game = Game.start(14, 14, jnp.float32)
        play = jax.jit(jax.vmap(lambda m: play_graph_game(game, m, graph, NOISE)))
        play(means).proportions.block_until_ready()
        seconds = []
        for _ in range(7):
            start = time.perf_counter()
            play(means).proportions.block_until_ready()
            seconds.append(time.perf_counter() - start)
    assert min(seconds) / 1000 < 50e-6


def test_the_identity_graph_is_the_ordinary_bandit():
    means = jnp.asarray(np.random.default_rng(0).uniform(size=6))
    got = feedback_graph_time(means, jnp.eye(6), NOISE)
    plain = gaussian_characteristic_time(means, NOISE)
    assert float(got.time) == pytest.approx(float(plain.time), rel=1e-8)
    np.testing.assert_allclose(got.proportions, plain.proportions, atol=1e-5)


def test_seeing_everything_at_once_needs_the_hardest_pair_only():
    # One query that reveals all arms: n_* n_a / (n_* + n_a) = 1/2 for the nearest.
    means = jnp.array([0.1, 0.9, 0.6, 0.5, 0.4, 0.3])
    graph = jnp.zeros((6, 6)).at[3].set(1.0)
    got = feedback_graph_time(means, graph, NOISE)
    assert float(got.time) == pytest.approx(4 * NOISE**2 / 0.3**2, rel=1e-7)
    np.testing.assert_allclose(got.proportions, jnp.eye(6)[3], atol=1e-6)


def test_an_arm_that_is_never_revealed_takes_forever():
    means = jnp.linspace(0.0, 1.0, 6)
    for arm in (0, 5):
        graph = jnp.asarray(star(6)).at[:, arm].set(0.0)
        got = feedback_graph_time(means, graph, NOISE)
        assert got.time == jnp.inf
        np.testing.assert_allclose(got.proportions, jnp.full(6, 1 / 6))


def test_tied_arms_take_forever_and_are_separated_fastest():
    graph = jnp.asarray(star(6))
    tied = jnp.array([0.2, 0.8, 0.3, 0.8, 0.1, 0.4])
    got = feedback_graph_time(tied, graph, NOISE)
    near = feedback_graph_time(tied.at[1].add(1e-4), graph, NOISE)
    assert got.time == jnp.inf
    np.testing.assert_allclose(got.proportions, near.proportions, atol=1e-4)


@pytest.mark.slow
def test_single_precision_is_good_enough_to_track():
    graph = jnp.asarray(clique(6), jnp.float32)
    means = jnp.asarray(np.random.default_rng(1).uniform(size=6), jnp.float32)
    got = feedback_graph_time(means, graph, NOISE)
    truth = oracle(np.asarray(means, float), np.asarray(graph, float))
    assert got.time.dtype == jnp.float32
    assert float(got.time) == pytest.approx(truth, rel=1e-3)
