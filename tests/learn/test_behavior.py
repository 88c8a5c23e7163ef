"""How an explorer behaves while it learns, and what is asked of it."""

import dataclasses
import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.request import Regime
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import Estimates, ExplorerNets
from icpe.learn.behavior import (
    BehaviorExplorer,
    TrainingPoint,
    draw_points,
    high_rank_query,
    ignore_stop_probability,
)
from icpe.learn.config import TrainConfig
from support.random_weights import random_weights

SPEC = TaskSpec(num_queries=4, num_hypotheses=2, outcome_size=1, horizon=10)
PRICES = PriceRange(0.01, 0.2)
DRAWS = 24_000
CONFIG = TrainConfig(
    batch_size=DRAWS,
    replay_size=DRAWS,
    num_iterations=1100,
    warmup_iterations=100,
    width=4,
    num_heads=1,
    num_layers=1,
)


@ft.cache
def drawn(iteration):
    draw = eqx.filter_jit(draw_points)
    points = draw(CONFIG, SPEC, PRICES, jnp.asarray(iteration), key=jr.key(iteration))
    return jax.tree.map(np.asarray, points)


def assert_frequencies(seen, probabilities):
    """Each frequency within 5 standard deviations: all right but for 1e-6 each."""
    values, counts = np.unique(seen, return_counts=True)
    frequencies = dict(zip(values.tolist(), counts / len(seen), strict=True))
    assert set(frequencies) <= set(probabilities)
    for value, p in probabilities.items():
        allowed = 5 * np.sqrt(p * (1 - p) / len(seen))
        assert frequencies.get(value, 0.0) == pytest.approx(p, abs=allowed)


def test_a_third_each_has_a_price_a_budget_or_both():
    points = drawn(100)
    assert points.regime is Regime.MIXED
    priced, whole = points.price > 0, points.max_queries == SPEC.horizon
    assert_frequencies(priced, {True: 2 / 3, False: 1 / 3})
    # A third by design, and by chance those of another third whose cap is so large.
    by_chance = (np.log(11 / 10) / np.log(11) + 1 / 10) / 2
    share = (1 + by_chance) / 3
    assert_frequencies(priced & whole, {True: share, False: 1 - share})
    assert np.all(points.error_prob == 0)


def test_prices_are_log_uniform_in_the_trained_range():
    price = drawn(100).price
    place = np.sort(np.log(price[price > 0] / 0.01) / np.log(0.2 / 0.01))
    assert place[0] >= 0 and place[-1] <= 1
    # Kolmogorov's distance exceeds 2.5 / sqrt(n) with probability 8e-6.
    expected = (np.arange(len(place)) + 0.5) / len(place)
    assert np.max(np.abs(place - expected)) < 2.5 / np.sqrt(len(place))


def test_budgets_are_log_uniform_in_one_half_and_uniform_in_the_other():
    points = drawn(100)
    steps = range(1, SPEC.horizon + 1)
    log_uniform = {k: np.log((k + 1) / k) / np.log(SPEC.horizon + 1) for k in steps}
    uniform = {k: 1 / SPEC.horizon for k in steps}
    budgets = points.price == 0
    for half, law in ((0, log_uniform), (1, uniform)):
        chosen = budgets & (np.arange(DRAWS) % 2 == half)
        assert_frequencies(points.max_queries[chosen], law)


def test_exploration_falls_from_1_to_its_spectrum():
    assert np.all(drawn(0).exploration == 1.0)
    assert np.all(drawn(100).exploration == 1.0)
    spread = drawn(1100).exploration
    assert spread[0] == pytest.approx(CONFIG.exploration_high)
    assert spread[-1] == pytest.approx(CONFIG.exploration_low)
    ratios = spread[1:] / spread[:-1]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-4)
    between = drawn(200).exploration
    assert np.all(between >= 0.5 - 1e-6)


@pytest.mark.parametrize(
    "iteration, expected", [(0, 1.0), (100, 1.0), (250, 0.5), (400, 0.2), (1100, 0.2)]
)
def test_wishes_to_stop_are_ignored_less_and_less(iteration, expected):
    found = ignore_stop_probability(CONFIG, jnp.asarray(iteration))
    assert found == pytest.approx(expected)


def behavior(exploration, ignore_stop, gain, high_rank=0.0):
    """A behavior and a state in which the gains of the queries are given."""
    config = NetConfig(CONFIG.transformer)
    nets = random_weights(lambda key: ExplorerNets(SPEC, config, PRICES, key=key))
    inside = NeuralExplorer(nets)
    explorer = BehaviorExplorer(inside, jnp.asarray(ignore_stop), high_rank)
    point = TrainingPoint(
        price=jnp.asarray(0.1),
        error_prob=jnp.zeros(()),
        max_queries=jnp.asarray(10),
        regime=Regime.MIXED,
        exploration=jnp.asarray(exploration),
    )
    inner, rate = eqx.filter_jit(explorer.init)(SPEC, point, jnp.zeros(1))
    estimates = Estimates(inner.estimates.log_posterior, jnp.asarray(gain))
    return explorer, (dataclasses.replace(inner, estimates=estimates), rate)


def choices(exploration, ignore_stop, gain, high_rank=0.0, count=4000):
    explorer, state = behavior(exploration, ignore_stop, gain, high_rank)
    mask = jnp.asarray([True, True, True, False])
    ask = jax.jit(jax.vmap(lambda key: explorer.ask(state, mask, key=key)))
    return np.asarray(ask(jr.split(jr.key(1), count)))


@pytest.mark.slow
def test_random_queries_replace_the_greedy_one_at_the_exploration_rate():
    asked = choices(0.3, 1.0, [0.1, 0.3, 0.2, 0.9])
    assert_frequencies(asked, {0: 0.1, 1: 0.8, 2: 0.1})


def test_a_wish_to_stop_is_heeded_unless_it_is_ignored():
    asked = choices(0.0, 0.25, [-0.1, -0.3, -0.2, 0.9])
    assert_frequencies(asked, {STOP: 0.75, 0: 0.25})


def test_without_exploration_it_is_the_explorer_itself():
    assert_frequencies(choices(0.0, 0.0, [0.1, 0.3, 0.2, 0.9]), {1: 1.0})
    explorer, state = behavior(0.0, 0.0, [0.1, 0.3, 0.2, 0.9])
    query, outcome = jnp.asarray(1), jnp.ones(1)
    told = eqx.filter_jit(explorer.tell)(state, query, outcome)
    inner = eqx.filter_jit(explorer.explorer.tell)(state[0], query, outcome)
    np.testing.assert_array_equal(
        explorer.log_posterior(told), explorer.explorer.log_posterior(inner)
    )
    assert explorer.recommend(told) == explorer.explorer.recommend(inner)


def test_part_of_the_random_queries_are_of_high_rank():
    asked = choices(0.4, 1.0, [0.1, 0.3, 0.2, 0.9], high_rank=0.5)
    # 0.2 of high rank, 0.2 of any rank, 0.6 greedy; queries 1, 2, 0 are ranked so.
    ranked = {1: np.log(2), 2: np.log(3 / 2), 0: np.log(4 / 3)}
    law = {query: 0.2 * p / np.log(4) + 0.2 / 3 for query, p in ranked.items()}
    assert_frequencies(asked, law | {1: law[1] + 0.6})


def test_a_high_rank_is_log_uniform_among_the_allowed():
    value = jnp.asarray([0.3, 9.0, 0.1, 0.2])
    allowed = jnp.asarray([True, False, True, True])
    shares = (np.arange(4000) + 0.5) / 4000
    chosen = jax.vmap(ft.partial(high_rank_query, value, allowed))(jnp.asarray(shares))
    queries, counts = np.unique(np.asarray(chosen), return_counts=True)
    # Ranks 1, 2, 3 are queries 0, 3, 2; rank r has probability log_4((r + 1) / r).
    expected = {0: np.log(2), 3: np.log(3 / 2), 2: np.log(4 / 3)}
    assert queries.tolist() == sorted(expected)
    for query, count in zip(queries.tolist(), counts, strict=True):
        assert count / 4000 == pytest.approx(expected[query] / np.log(4), abs=1e-3)
