import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.families.feedback_graph import FeedbackGraph
from icpe.theory.characteristic_time import gaussian_characteristic_time
from icpe.theory.feedback_graph_time import feedback_graph_time
from icpe.theory.graph_game import Game, play_graph_game

NOISE = 0.2


def information(proportions, means, graph):
    """1 / T(w), written out with numpy."""
    seen = proportions @ graph
    best = np.argmax(means)
    rates = (means[best] - means) ** 2 / (2 * NOISE**2)
    values = rates * seen[best] * seen / (seen[best] + seen)
    return np.delete(values, best).min()


def test_without_a_graph_it_finds_the_proportions_of_an_ordinary_bandit():
    means = jnp.array([0.3, 0.9, 0.5, 0.6])
    play = jax.jit(lambda game: play_graph_game(game, means, jnp.eye(4), NOISE, 400))
    got = play(Game.start(4, 4, jnp.float32)).proportions
    truth = gaussian_characteristic_time(means, NOISE).proportions
    np.testing.assert_allclose(got, truth, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["loopy-star", "ring", "loopless-clique"])
def test_the_mean_of_forty_games_is_within_a_tenth_of_the_optimum(kind):
    graph = FeedbackGraph(kind=kind, num_arms=6).graph
    means = np.random.default_rng(1).uniform(size=6)
    play = jax.jit(
        ft.partial(
            play_graph_game,
            means=jnp.asarray(means, jnp.float32),
            graph=jnp.asarray(graph, jnp.float32),
            noise=NOISE,
        )
    )
    game, total = Game.start(6, 6, jnp.float32), np.zeros(6)
    for _ in range(40):
        game = play(game)
        total += np.asarray(game.proportions)
    assert float(jnp.sum(game.proportions)) == pytest.approx(1.0, abs=1e-5)
    with jax.enable_x64(True):
        time = feedback_graph_time(jnp.asarray(means), jnp.asarray(graph), NOISE).time
    assert 0.9 < information(total / 40, means, graph) * float(time) <= 1.0 + 1e-6
