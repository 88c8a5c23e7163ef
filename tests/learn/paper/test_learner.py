"""One iteration of the paper's algorithm, and the parts that need no training."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.history import History
from icpe.core.request import Regime
from icpe.explorers.neural.paper import Outputs
from icpe.learn.paper.behavior import exploration_rate, training_points
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.learner import PaperLearner
from icpe.learn.paper.transitions import Transition
from support.toy_tasks import TwoDoors

pytestmark = pytest.mark.usefixtures("optax_dtypes")
FAMILY = TwoDoors(horizon=2)
TINY = PaperConfig(
    error_prob=0.1,
    num_iterations=10,
    batch_size=8,
    minibatch_size=8,
    updates_per_iteration=2,
    replay_size=16,
    inference_period=2,
    query_period=4,
    initial_cost=0.3,
    dual_rate=0.5,
    dual_start=0.0,
    decay_fraction=0.5,
    width=4,
    num_layers=1,
    num_heads=1,
)


def leaves(nets, index):
    """The arrays of the inference net (0) or the query net (1)."""
    return [np.asarray(leaf[index]) for leaf in jax.tree.leaves(nets)]


def equal(one, other, index):
    pairs = zip(leaves(one, index), leaves(other, index), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def states():
    """The states before the first iteration and after the first two."""
    learner = PaperLearner(FAMILY, TINY)
    step = eqx.filter_jit(learner.step)
    with jax.numpy_dtype_promotion("standard"):
        first = learner.init(key=jr.key(0))
        second, metrics = step(first)
        third, _ = step(second)
    return first, second, third, metrics


def test_each_target_network_is_copied_when_its_own_period_is_over():
    learner = PaperLearner(FAMILY, TINY)
    make = jax.vmap(lambda key: {"weight": jr.normal(key, (3,))})
    old, new = make(jr.split(jr.key(0))), make(jr.split(jr.key(1)))
    for updates, copied in {1: (), 2: (0,), 3: (), 4: (0, 1), 6: (0,)}.items():
        found = learner.refresh(old, new, jnp.asarray(updates))
        for index in (0, 1):
            assert equal(found, new if index in copied else old, index)


@pytest.mark.slow
def test_target_networks_lag_behind_those_that_learn(states):
    first, second, third, _ = states
    assert not equal(second.nets, first.nets, 0)
    assert not equal(second.nets, first.nets, 1)
    assert equal(second.targets, second.nets, 0)
    assert equal(second.targets, first.nets, 1)
    assert equal(third.targets, third.nets, 0) and equal(third.targets, third.nets, 1)


@pytest.mark.slow
def test_an_iteration_counts_remembers_and_reports(states):
    first, second, third, metrics = states
    assert [int(s.iteration) for s in states[:3]] == [0, 1, 2]
    assert [int(s.updates) for s in states[:3]] == [0, 2, 4]
    assert [int(s.replay.added) for s in states[:3]] == [0, 8, 16]
    for field in dataclasses.fields(metrics):
        assert np.isfinite(getattr(metrics, field.name)), field.name
    surplus = float(metrics.accuracy) - 0.9
    expected = max(TINY.min_cost, 0.3 + 0.5 * surplus)
    assert float(second.cost) == pytest.approx(expected, rel=1e-5)
    assert float(metrics.cost) == float(second.cost)
    assert not np.array_equal(jr.key_data(first.key), jr.key_data(third.key))


def new_cost(config, cost, accuracy, iteration):
    learner = PaperLearner(FAMILY, config)
    return float(
        learner.update_cost(
            jnp.asarray(cost), jnp.asarray(accuracy), jnp.asarray(iteration)
        )
    )


def test_queries_get_dearer_while_more_is_right_than_asked_for():
    assert new_cost(TINY, 0.3, 1.0, 0) == pytest.approx(0.3 + 0.5 * 0.1)
    assert new_cost(TINY, 0.3, 0.8, 0) == pytest.approx(0.3 - 0.5 * 0.1)
    assert new_cost(TINY, 0.3, 0.0, 0) == pytest.approx(TINY.min_cost)
    # The rate stays the same to the end, where the networks still improve.
    assert new_cost(TINY, 0.3, 1.0, 10) == pytest.approx(0.3 + 0.5 * 0.1)
    late = dataclasses.replace(TINY, dual_start=0.3)
    assert new_cost(late, 0.3, 1.0, 2) == pytest.approx(0.3)
    assert new_cost(late, 0.3, 1.0, 3) == pytest.approx(0.3 + 0.5 * 0.1)


def test_a_fixed_budget_has_no_dual_variable():
    assert new_cost(dataclasses.replace(TINY, budget=2), 0.0, 1.0, 0) == 0.0


def targets(config, cost=0.3):
    """Targets of a query in the middle, of one at the end, and of a stop."""
    outcomes = jnp.asarray([[0.0, 5.0, 0.0], [0.0, 5.0, 7.0], [0.0, 0.0, 0.0]])
    after = History(
        queries=jnp.zeros((3, 2), jnp.int32),
        outcomes=outcomes[..., None],
        length=jnp.asarray([1, 2, 0]),
    )
    batch = Transition(
        before=after,
        action=jnp.asarray([0, 1, STOP]),
        after=after,
        terminal=jnp.asarray([False, True, False]),
        hypothesis=jnp.asarray([0, 0, 0]),
        query_mask=None,
    )
    outputs = Outputs(
        log_posterior=jnp.log(jnp.tile(jnp.asarray([0.2, 0.8]), (3, 1))),
        values=jnp.tile(jnp.asarray([0.1, 0.4, 0.6]), (3, 1)),
    )
    learner = PaperLearner(FAMILY, config)
    return learner._query_targets(outputs, jnp.asarray(cost), batch)[:2]


def test_targets_follow_the_objective_and_the_reward():
    budget = dataclasses.replace(TINY, budget=2)
    np.testing.assert_allclose(targets(TINY), [0.6 - 0.3, 0.8 - 0.3], rtol=1e-5)
    np.testing.assert_allclose(targets(budget, 0.0), [0.4, 0.8], rtol=1e-5)
    truth = dataclasses.replace(TINY, reward="truth")
    np.testing.assert_allclose(targets(truth), [0.6 - 0.3, 0.2 - 0.3], rtol=1e-5)
    plain = dataclasses.replace(budget, reward="environment")
    np.testing.assert_allclose(targets(plain, 0.0), [5.0 + 0.4, 7.0], rtol=1e-5)


def test_exploration_falls_and_some_episodes_never_explore():
    config = dataclasses.replace(
        TINY, exploration_anneal=0.5, exploration_end=0.2, greedy_fraction=0.25
    )
    rates = [float(exploration_rate(config, jnp.asarray(i))) for i in (0, 2, 5, 9)]
    assert rates == pytest.approx([1.0, 0.68, 0.2, 0.2])
    points = training_points(config, FAMILY.spec, jnp.asarray(2))
    np.testing.assert_allclose(points.exploration, [0.0] * 2 + [0.68] * 6, rtol=1e-6)
    assert points.regime is Regime.ERROR_PROB
    np.testing.assert_array_equal(points.max_queries, 2)
