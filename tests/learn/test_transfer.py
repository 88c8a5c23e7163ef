"""Networks as the start of another training."""

import dataclasses

import jax
import numpy as np
import pytest

from icpe.core.errors import UnsupportedError
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.transfer import like_networks, transfer
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights
from support.toy_tasks import Lockers, TwoDoors

SMALL = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2), summary=False)
FAMILY = TwoDoors(horizon=3)


@pytest.fixture
def nets():
    prices = PriceRange(0.03, 0.3)
    return random_weights(lambda key: ExplorerNets(FAMILY.spec, SMALL, prices, key=key))


@pytest.fixture
def fitting(tiny, nets):
    return like_networks(tiny(), nets)


def test_a_configuration_takes_over_networks_and_prices(fitting, nets, tiny):
    assert fitting.net_config == SMALL
    assert fitting.prices(FAMILY.spec) == PriceRange(0.03, 0.3)
    assert fitting.batch_size == tiny().batch_size


def test_the_weights_move_to_a_family_of_the_same_sizes(fitting, nets):
    spec = dataclasses.replace(FAMILY.spec, outcome_scale=(2.0,))
    moved = transfer(nets, spec, dataclasses.replace(fitting, max_price=0.1))
    assert (moved.spec, moved.prices) == (spec, PriceRange(0.03, 0.1))
    for one, other in zip(jax.tree.leaves(moved), jax.tree.leaves(nets), strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_networks_are_refused_by_the_name_of_the_field(fitting, nets):
    for change, words in (
        ({"width": 16}, "their width is 8, and 16 is asked for"),
        ({"summary": True}, "their summary is False, and True is asked for"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            transfer(nets, FAMILY.spec, dataclasses.replace(fitting, **change))


def test_a_family_of_other_sizes_is_refused(fitting, nets):
    with pytest.raises(UnsupportedError, match="their num_queries is 2, and 3"):
        transfer(nets, Lockers().spec, fitting)
    with pytest.raises(UnsupportedError, match="their horizon is 3, and 5"):
        transfer(nets, TwoDoors(horizon=5).spec, fitting)
