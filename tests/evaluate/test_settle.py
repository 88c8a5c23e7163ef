"""How far networks may depart from their tables is measured, not assumed."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from icpe.evaluate.settle import CAUTIONS, CORRECTIONS, settle
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig
from support.prediction_tables import predictions, symbol_table
from support.random_weights import random_weights
from support.toy_tasks import TwoDoors

FAMILY = TwoDoors(0.8, 6)
SMALL = NetConfig(
    TransformerConfig(width=8, num_layers=1, num_heads=1),
    predictions=PredictionShape("symbols", 1, 3, "", 0, trust=1.0),
)
EXACT = np.array([[[0.8, 0.0, 0.2], [0, 1, 0]], [[0.2, 0.0, 0.8], [0, 1, 0]]])
"""P(-1, 0, 1 | door, query): a peek, and a knock that tells nothing."""


def networks(law, scale):
    """Networks with some weights and tables with a given law."""
    table = symbol_table(np.maximum(law, 1e-6))
    table = dataclasses.replace(table, symbols=jnp.asarray([[-1.0], [0.0], [1.0]]))
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, SMALL, PriceRange(0.02, 0.2), key=key),
        scale=scale,
    )
    return nets.with_predictions(predictions(table, np.array([0.5, 0.5]), 2))


def test_exact_tables_are_left_alone_by_networks_that_know_nothing():
    settled = settle(networks(EXACT, scale=0.5), FAMILY, 64, seed=0)
    assert settled.predictions is not None
    assert settled.predictions.correction == 0.0
    assert settled.predictions.caution == max(CAUTIONS)


def test_networks_that_know_better_than_their_tables_are_listened_to():
    """Tables that take a peek for the contrary are worse than no belief at all."""
    nets = networks(EXACT[::-1], scale=0.0)
    gate = FAMILY.spec.num_queries
    # The tables' evidence counts by softplus(gate): hardly at all.
    nets = eqx.tree_at(
        lambda nets: nets.pair.head.bias,
        nets,
        replace_fn=lambda bias: bias.at[0, gate].set(-6.0),
    )
    settled = settle(nets, FAMILY, 64, seed=0)
    assert settled.predictions is not None
    assert settled.predictions.correction == max(CORRECTIONS)


def test_the_weights_stay_as_they_are():
    nets = networks(EXACT, scale=0.5)
    settled = settle(nets, FAMILY, 64, seed=0)
    for one, other in zip(
        jax.tree.leaves(nets.trainable()),
        jax.tree.leaves(settled.trainable()),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_networks_without_tables_are_returned_as_they_are():
    plain = dataclasses.replace(SMALL, predictions=None)
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, plain, PriceRange(0.02, 0.2), key=key)
    )
    assert settle(nets, FAMILY, 64, seed=0) is nets
