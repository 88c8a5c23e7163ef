"""Networks with tables start as the greedy rule, and depart from it where it counts."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax

from icpe.core.history import History
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig
from support.prediction_tables import predictions, random_law, symbol_table
from support.random_weights import random_weights

COSTS = (1.0, 2.0, 0.5)
SPEC = TaskSpec(3, 4, outcome_size=1, horizon=5, costs=COSTS)
LAW, PRIOR = random_law(4, 3, 3, seed=7)
TABLES = predictions(symbol_table(LAW), PRIOR, 3, costs=COSTS)
CONFIG = NetConfig(
    TransformerConfig(width=8, num_layers=1, num_heads=2),
    predictions=PredictionShape("symbols", 1, 3, "", 0, trust=1.0),
)
QUERIES = jnp.asarray([[0, 1, 2, 2, 0], [1, 1, 0, 2, 1], [2, 0, 1, 0, 2]])
OUTCOMES = jr.randint(jr.key(1), (3, 6, 1), 0, 3).astype(jnp.float32)
HISTORY = History(QUERIES, OUTCOMES, jnp.full(3, 5))
PRICE = jnp.asarray([0.02, 0.0, 0.1])
CAPS = jnp.asarray([5, 5, 5])


def build(key, trust=1.0):
    shape = PredictionShape("symbols", 1, 3, "", 0, trust=trust)
    config = dataclasses.replace(CONFIG, predictions=shape)
    prices = PriceRange(0.01, 0.2)
    return ExplorerNets(SPEC, config, prices, predictions=TABLES, key=key)


@pytest.fixture(scope="module")
def fresh():
    """As training starts."""
    return eqx.filter_jit(build)(jr.key(0))


@pytest.fixture(scope="module")
def noisy():
    """With random weights everywhere."""
    return random_weights(build, scale=0.5).with_predictions(TABLES)


@eqx.filter_jit
def along(nets):
    return nets.along(nets.see(HISTORY), PRICE, CAPS)


@eqx.filter_jit
def view(nets):
    return nets.see(HISTORY).told.view


def bayes():
    """The exact posterior at every position."""
    rows = np.empty((3, 6, 4))
    for episode in range(3):
        weights = PRIOR
        rows[episode, 0] = weights
        for t in range(5):
            answer = int(OUTCOMES[episode, t + 1, 0])
            weights = weights * LAW[:, int(QUERIES[episode, t]), answer]
            rows[episode, t + 1] = weights / weights.sum()
    return rows


def information(weights):
    """Of each query about the hypothesis, per cost."""
    joint = weights[:, None, None] * LAW
    mixed = joint.sum(axis=0)
    each = np.log(joint / mixed / weights[:, None, None])
    return (joint * each).sum(axis=(0, 2)) / COSTS


def test_before_training_the_posterior_is_exact(fresh):
    np.testing.assert_allclose(np.exp(along(fresh).log_posterior), bayes(), rtol=1e-4)


def test_before_training_the_query_is_that_of_largest_information_per_cost(fresh):
    ranking = np.asarray(along(fresh).ranking)
    for weights, values in zip(
        bayes().reshape(-1, 4), ranking.reshape(-1, 3), strict=True
    ):
        assert values.argmax() == information(weights).argmax()


def test_before_training_asking_removes_half_of_the_error_and_costs_its_charge(fresh):
    found = along(fresh)
    charge = view(fresh).charge
    error = 1.0 - np.asarray(found.stop_value)
    left = np.arange(5, -1, -1)
    unit = np.where(PRICE[:, None] > 0, PRICE[:, None], 0.5 * error / (left + 1))
    np.testing.assert_allclose(found.unit, unit, rtol=1e-5)
    expected = 0.5 * error[..., None] - unit[..., None] * charge
    np.testing.assert_allclose(found.gain, expected, atol=1e-6)


def test_half_trusted_tables_give_the_root_of_their_posterior(fresh):
    half = eqx.filter_jit(build)(jr.key(0), 0.5)
    root = np.sqrt(bayes())
    expected = root / root.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(np.exp(along(half).log_posterior), expected, rtol=1e-4)


@pytest.mark.parametrize("correction", [1.0, 0.0])
def test_one_pass_gives_what_the_explorer_sees_step_by_step(noisy, correction):
    """Without correction the explorer leaves the inference net out."""
    noisy = with_tables(noisy, lambda tables: tables.with_correction(correction))
    explorer = NeuralExplorer(noisy.for_play())
    (keys, *_) = jax.tree.leaves(explorer.nets.init_caches())
    assert keys.shape[0] == (2 if correction else 1)

    @eqx.filter_jit
    def steps():
        def episode(price, cap, queries, outcomes):
            point = OperatingPoint(price, jnp.zeros(()), cap, Regime.MIXED)
            first = explorer.init(SPEC, point, outcomes[0])

            def step(state, given):
                state = explorer.tell(state, *given)
                return state, state.estimates

            _, later = lax.scan(step, first, (queries, outcomes[1:]))
            return jax.tree.map(
                lambda one, rest: jnp.concatenate([one[None], rest]),
                first.estimates,
                later,
            )

        return jax.vmap(episode)(PRICE, CAPS, QUERIES, OUTCOMES)

    whole = along(noisy)
    assert np.std(whole.gain) > 0.01
    leaves = jax.tree.leaves(whole), jax.tree.leaves(steps())
    for one, other in zip(*leaves, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def with_tables(nets, change):
    return nets.with_predictions(change(nets.predictions))


def test_without_correction_weights_do_not_touch_the_belief(noisy):
    assert not np.allclose(np.exp(along(noisy).log_posterior), bayes(), atol=0.05)
    plain = with_tables(noisy, lambda tables: tables.with_correction(0.0))
    np.testing.assert_allclose(np.exp(along(plain).log_posterior), bayes(), rtol=1e-4)


def test_caution_is_what_another_query_must_save(noisy):
    bold = along(with_tables(noisy, lambda tables: tables.with_caution(0.0)))
    careful = along(with_tables(noisy, lambda tables: tables.with_caution(0.5)))
    np.testing.assert_array_equal(bold.gain, careful.gain)
    np.testing.assert_array_equal(bold.ranking, bold.gain)
    is_best = view(noisy).is_best
    doubt = 0.5 * np.mean(COSTS) * np.asarray(bold.unit)[..., None]
    expected = bold.gain - np.where(is_best, 0.0, doubt)
    np.testing.assert_allclose(careful.ranking, expected, atol=1e-6)
