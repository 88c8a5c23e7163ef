"""Networks as the start of another training."""

import dataclasses

import jax
import numpy as np
import pytest

from icpe.core.errors import UnsupportedError
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.learner import UniversalLearner
from icpe.learn.survey import survey
from icpe.learn.transfer import like_networks, transfer
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights
from support.toy_tasks import Lockers, TwoDoors

SMALL = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2), summary=False)
TABLES = PredictionShape("symbols", 1, 3, "", 0, trust=1.0)
FAMILY = TwoDoors(horizon=3)


PRICES = PriceRange(0.03, 0.3)


def networks(spec=FAMILY.spec, config=SMALL, prices=PRICES, seed=0):
    return random_weights(
        lambda key: ExplorerNets(spec, config, prices, key=key), seed=seed
    )


def with_tables(trust=1.0, seed=0, **changes):
    shape = dataclasses.replace(TABLES, trust=trust, **changes)
    return networks(config=dataclasses.replace(SMALL, predictions=shape), seed=seed)


def assert_equal_arrays(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_configuration_takes_over_transformers_prices_and_tables(tiny):
    fitting = like_networks(tiny(), networks())
    assert fitting.transformer == SMALL.transformer
    assert (fitting.min_price, fitting.max_price) == (0.03, 0.3)
    assert fitting.predictions == "none"
    assert fitting.batch_size == tiny().batch_size
    counted = tiny(predictions="counted")
    assert like_networks(counted, with_tables()).predictions == "counted"


def test_networks_for_such_a_configuration_can_start_from_those_it_is_like(tiny):
    learner = UniversalLearner(FAMILY, tiny(width=8), survey(FAMILY))
    nets = random_weights(lambda key: learner.new_networks(key=key))
    config = like_networks(tiny(), nets)
    again = UniversalLearner(FAMILY, config, survey(FAMILY))
    fresh = random_weights(lambda key: again.new_networks(key=key), seed=1)
    moved = transfer(nets, fresh)
    assert_equal_arrays(moved.trainable(), nets.trainable())
    assert moved.prices == nets.prices


def test_the_weights_move_to_a_family_of_the_same_sizes():
    spec = dataclasses.replace(FAMILY.spec, outcome_scale=(2.0,))
    nets, fresh = networks(), networks(spec, prices=PriceRange(0.03, 0.1), seed=1)
    moved = transfer(nets, fresh)
    assert (moved.spec, moved.prices) == (spec, PriceRange(0.03, 0.1))
    assert_equal_arrays(moved, nets)


def test_tables_and_their_trust_are_those_of_the_new_family():
    nets, fresh = with_tables(), with_tables(trust=0.5, seed=1)
    moved = transfer(nets, fresh)
    assert_equal_arrays(moved.trainable(), nets.trainable())
    assert_equal_arrays(moved.predictions, fresh.predictions)
    assert moved.config.predictions == fresh.config.predictions


def test_what_was_measured_of_outcomes_stays_since_the_weights_are_for_it():
    measured = dataclasses.replace(SMALL, outcome_shift=(1.0,), outcome_scale=(3.0,))
    other = dataclasses.replace(SMALL, outcome_shift=(2.0,), outcome_scale=(5.0,))
    moved = transfer(networks(config=measured), networks(config=other, seed=1))
    assert moved.config == measured


def test_other_networks_are_refused_by_the_name_of_the_field():
    wider = TransformerConfig(width=16, num_layers=1, num_heads=2)
    for fresh, words in (
        (NetConfig(wider, summary=False), "their width is 8, and 16 is asked for"),
        (
            dataclasses.replace(SMALL, summary=True),
            "their summary is False, and True is asked for",
        ),
    ):
        with pytest.raises(UnsupportedError, match=words):
            transfer(networks(), networks(config=fresh))
    with pytest.raises(UnsupportedError, match="their predictions is None, and"):
        transfer(networks(), with_tables())
    with pytest.raises(UnsupportedError, match=r"'num_each': 1, .* 'num_each': 4"):
        transfer(with_tables(), with_tables(num_each=4))


def test_a_family_of_other_sizes_is_refused():
    with pytest.raises(UnsupportedError, match="their num_queries is 2, and 3"):
        transfer(networks(), networks(Lockers().spec))
    with pytest.raises(UnsupportedError, match="their horizon is 3, and 5"):
        transfer(networks(), networks(TwoDoors(horizon=5).spec))
