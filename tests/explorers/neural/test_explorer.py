"""The neural explorer: the rule by which it stops, and the contract of explorers."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest

from icpe.core.episode import STOP
from icpe.core.errors import OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import Estimates, ExplorerNets
from icpe.nets.transformer import TransformerConfig
from icpe.testing import check_explorer
from support.random_weights import random_weights
from support.toy_tasks import Corridor, Lockers, TwoBits

SPEC = TaskSpec(num_queries=3, num_hypotheses=4, outcome_size=2, horizon=5)
SMALL = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1), True, True)
PRICES = PriceRange(0.01, 0.2)


def random_explorer(spec=SPEC):
    """Its networks have outputs far from 0."""
    return NeuralExplorer(
        random_weights(
            lambda key: ExplorerNets(spec, SMALL, PRICES, key=key), scale=0.7
        )
    )


@pytest.mark.parametrize(
    "price, gain, mask, expected",
    [
        (0.1, (0.2, 0.3, -0.1), (True, True, True), 1),
        (0.1, (0.2, 0.3, -0.1), (True, False, True), 0),
        (0.1, (0.2, 0.3, -0.1), (False, False, True), STOP),
        (0.1, (-0.2, 0.0, -0.1), (True, True, True), STOP),
        (0.0, (-0.2, -0.3, -0.1), (True, True, False), 0),
    ],
    ids=["best", "best allowed", "allowed are bad", "nothing gained", "a budget"],
)
def test_it_stops_exactly_when_no_allowed_query_gains(price, gain, mask, expected):
    explorer = random_explorer()
    point = OperatingPoint.at(5, budget=5)
    state = eqx.filter_jit(explorer.init)(SPEC, point, jnp.zeros(2))
    state = dataclasses.replace(
        state,
        price=jnp.asarray(price),
        estimates=Estimates(state.estimates.log_posterior, jnp.asarray(gain)),
    )
    assert explorer.ask(state, jnp.asarray(mask), key=jr.key(0)) == expected


def test_where_only_the_family_ends_an_episode_it_never_stops():
    spec = Corridor().spec
    explorer = random_explorer(spec)
    point = OperatingPoint.at(4, price=0.2)
    state = eqx.filter_jit(explorer.init)(spec, point, jnp.zeros(1))
    hopeless = Estimates(state.estimates.log_posterior, jnp.asarray([-1.0, -3.0, -2.0]))
    state = dataclasses.replace(state, estimates=hopeless)
    assert explorer.ask(state, jnp.ones(3, bool), key=jr.key(0)) == 0


def test_an_error_probability_is_left_to_the_artifact():
    point = OperatingPoint.at(5, error_prob=0.1)
    with pytest.raises(OperatingPointError, match="price of an error_prob"):
        random_explorer().init(SPEC, point, jnp.zeros(2))


@pytest.mark.slow
def test_it_keeps_the_contract_of_explorers():
    family = Lockers()
    point = OperatingPoint.at(family.spec.horizon, price=0.01)
    check_explorer(random_explorer(family.spec), family, [point])


@pytest.mark.slow
@pytest.mark.parametrize("family", [Lockers(), TwoBits(), Corridor()])
def test_it_keeps_the_contract_in_every_regime_that_it_serves(family):
    check_explorer(random_explorer(family.spec), family)
