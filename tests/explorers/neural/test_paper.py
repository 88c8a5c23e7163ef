"""The paper's explorer: the largest action value, of which stopping is one."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.history import History
from icpe.core.memory import Scratch, StepCount
from icpe.core.request import OperatingPoint, Regime, Request
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig
from icpe.explorers.neural.paper import (
    Objective,
    Outputs,
    PaperExplorer,
    PaperNets,
    PaperState,
)
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights

SPEC = TaskSpec(num_queries=3, num_hypotheses=2, outcome_size=1, horizon=4)
CONFIDENCE, BUDGET = Objective(error_prob=0.1), Objective(budget=4)
ALL = jnp.ones(3, bool)


def nets_for(objective, spec=SPEC):
    config = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
    return random_weights(lambda key: PaperNets(spec, config, objective, key=key))


def choice(nets, values, mask=ALL):
    """What is asked where the networks give these values, stopping last."""
    outputs = Outputs(jnp.zeros(2), jnp.asarray(values))
    count = StepCount(jnp.zeros((), jnp.int32), 4)
    state = PaperState(outputs, count, Scratch(None))
    return int(PaperExplorer(nets).ask(state, mask, key=jr.key(0)))


def test_it_takes_the_action_of_largest_value_and_ties_go_to_stopping():
    nets = nets_for(CONFIDENCE)
    assert choice(nets, [0.1, 0.9, 0.2, 0.5]) == 1
    assert choice(nets, [0.1, 0.4, 0.2, 0.5]) == STOP
    assert choice(nets, [0.1, 0.5, 0.2, 0.5]) == STOP


def test_masked_queries_are_left_out():
    mask = jnp.asarray([True, False, True])
    assert choice(nets_for(CONFIDENCE), [0.1, 0.9, 0.2, 0.0], mask) == 2
    assert choice(nets_for(CONFIDENCE), [0.1, 0.9, 0.2, 0.5], mask) == STOP


@pytest.mark.parametrize(
    "nets",
    [
        nets_for(BUDGET),
        nets_for(CONFIDENCE, dataclasses.replace(SPEC, can_stop=False)),
    ],
    ids=["fixed budget", "only the family ends an episode"],
)
def test_it_never_stops_where_stopping_is_not_an_action(nets):
    assert not nets.learns_to_stop
    assert choice(nets, [0.1, 0.4, 0.2, 9.0]) == 1


@eqx.filter_jit
def read(explorer, queries, outcomes):
    """The state after a whole episode, step by step."""
    state = explorer.init(SPEC, OperatingPoint.at(4, error_prob=0.1), outcomes[0])
    for query, outcome in zip(queries, outcomes[1:], strict=True):
        state = explorer.tell(state, query, outcome)
    return state


@eqx.filter_jit
def at_ends(nets, one, other):
    return nets.at_ends(one, other)


@pytest.mark.slow
def test_stepping_through_an_episode_gives_what_the_padded_prefix_gives():
    nets = nets_for(CONFIDENCE)
    explorer = PaperExplorer(nets)
    queries = jnp.asarray([2, 0, 2])
    outcomes = jnp.asarray([[0.0], [1.0], [-0.5], [0.3]])
    state = read(explorer, queries, outcomes)
    # The padding is arbitrary, and a longer history in the batch changes nothing.
    padded = History(
        queries=jnp.asarray([[2, 0, 2, 1], [1, 1, 1, 1]]),
        outcomes=jnp.stack([jnp.append(outcomes, 7.0)[:, None], jnp.ones((5, 1))]),
        length=jnp.asarray([3, 4]),
    )
    found = at_ends(nets, padded, padded)
    np.testing.assert_allclose(found.values[0], state.outputs.values, atol=1e-5)
    expected = explorer.log_posterior(state)
    np.testing.assert_allclose(found.log_posterior[0], expected, atol=1e-5)
    again = eqx.filter_jit(PaperNets.posterior_at_ends)(nets, padded)
    np.testing.assert_allclose(again, found.log_posterior, atol=1e-6)
    assert int(explorer.recommend(state)) == int(jnp.argmax(expected))


def test_each_network_reads_its_own_histories():
    nets = nets_for(CONFIDENCE)
    outcomes = jnp.arange(10.0).reshape(2, 5, 1)
    one = History(jnp.zeros((2, 4), jnp.int32), outcomes, jnp.asarray([1, 2]))
    other = History(jnp.ones((2, 4), jnp.int32), -outcomes, jnp.asarray([3, 4]))
    mixed = at_ends(nets, one, other)
    posterior = at_ends(nets, one, one).log_posterior
    np.testing.assert_allclose(mixed.log_posterior, posterior, atol=1e-6)
    values = at_ends(nets, other, other).values
    np.testing.assert_allclose(mixed.values, values, atol=1e-6)
    assert not np.allclose(values, at_ends(nets, one, one).values, atol=1e-3)


def test_it_refuses_another_regime():
    budget, price = OperatingPoint.at(4, budget=2), OperatingPoint.at(4, price=0.1)
    for objective, point in ((CONFIDENCE, budget), (BUDGET, price)):
        with pytest.raises(OperatingPointError, match=f"trained for {objective} alone"):
            PaperExplorer(nets_for(objective)).init(SPEC, point, jnp.zeros(1))


@pytest.mark.parametrize(
    "values, words",
    [
        ({}, "either an error_prob or a budget"),
        ({"error_prob": 0.1, "budget": 3}, "either an error_prob or a budget"),
        ({"error_prob": 1.0}, "strictly between 0 and 1"),
    ],
)
def test_an_objective_is_one_request(values, words):
    with pytest.raises(InvalidParameterError, match=words):
        Objective(**values)


def test_a_budget_beyond_the_horizon_is_refused_when_networks_are_built():
    with pytest.raises(OperatingPointError, match="between 1 and the family's horizon"):
        nets_for(Objective(budget=5))


def test_an_objective_serves_itself_and_nothing_else():
    CONFIDENCE.check_serves(Request(error_prob=0.1), 4)
    CONFIDENCE.check_serves(Request(error_prob=0.1, max_queries=4), 4)
    BUDGET.check_serves(Request(budget=4), 4)
    served = CONFIDENCE.operating_point(4)
    assert served.regime is Regime.ERROR_PROB and int(served.max_queries) == 4
    for objective, request in (
        (CONFIDENCE, Request(error_prob=0.05)),
        (CONFIDENCE, Request(error_prob=0.1, max_queries=3)),
        (CONFIDENCE, Request(price=0.1)),
        (BUDGET, Request(budget=3)),
        (BUDGET, Request(error_prob=0.1)),
    ):
        with pytest.raises(OperatingPointError, match=f"trained for {objective} alone"):
            objective.check_serves(request, 4)
