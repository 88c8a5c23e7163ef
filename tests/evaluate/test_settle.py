"""How far networks may depart from their tables is measured, not assumed."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.request import OperatingPoint
from icpe.evaluate.judge import Judgment
from icpe.evaluate.settle import CAUTIONS, CORRECTIONS, loss_against, settle
from icpe.evaluate.thresholds import ThresholdEpisodes
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.predicted import belief_of
from icpe.explorers.rules.belief_explorer import BeliefExplorer, DoubtStopping
from icpe.explorers.rules.scores import InformationScore
from icpe.nets.evidence import PredictionShape
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import rollout
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


def networks(law, scale, config=SMALL):
    """Networks with some weights and tables with a given law."""
    table = symbol_table(np.maximum(law, 1e-6))
    table = dataclasses.replace(table, symbols=jnp.asarray([[-1.0], [0.0], [1.0]]))
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, config, PriceRange(0.02, 0.2), key=key),
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


def test_what_the_family_itself_says_is_not_corrected():
    given = dataclasses.replace(SMALL, reads_worth=True)
    settled = settle(networks(EXACT, 0.5, given), FAMILY, 64, seed=0)
    assert settled.predictions is not None
    assert settled.predictions.correction == 0.0


def test_networks_that_save_nothing_against_the_rule_are_not_listened_to():
    """Random ones waste queries; without what they say, theirs are the rule's."""
    nets = networks(EXACT, scale=0.5)
    settled = settle(nets, FAMILY, 256, seed=0)
    silent = nets.with_query_share(0.0)
    for one, other in zip(
        jax.tree.leaves(silent.trainable()),
        jax.tree.leaves(settled.trainable()),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_silent_networks_are_the_rule():
    """A peek at a time, until the posterior leaves less doubt than two prices."""
    nets = networks(EXACT, scale=0.5).with_query_share(0.0)
    assert nets.predictions is not None
    tables = nets.predictions.with_correction(0.0)
    nets = nets.with_predictions(tables)
    price = 0.05
    point = OperatingPoint.at(FAMILY.spec.horizon, price=price)
    keys = jr.split(jr.key(1), 200)
    played = rollout(NeuralExplorer(nets), FAMILY, point, keys=keys)
    assert nets.predictions is not None
    rule = BeliefExplorer(
        "rule", belief_of(tables), InformationScore(), DoubtStopping()
    )
    point = OperatingPoint.at(FAMILY.spec.horizon, price=2 * price)
    theirs = rollout(rule, FAMILY, point, keys=keys)
    np.testing.assert_array_equal(played.history.queries, theirs.history.queries)
    np.testing.assert_array_equal(
        played.ending.recommendation, theirs.ending.recommendation
    )


def judgment(sureness, cost):
    return Judgment((0.01, 0.1), (0.0, 0.0), sureness, cost, cost)


def test_the_loss_is_that_against_a_rule_that_is_as_sure():
    """The rule is sure to 0.6, 0.8, 0.9 after 1, 2, 4 queries, in every episode."""
    sure = np.tile([0.5, 0.6, 0.8, 0.85, 0.9], (10, 1))
    paid = np.tile(np.arange(5.0), (10, 1))
    rule = ThresholdEpisodes(sure, sure > 0, paid, np.full(10, 4))
    assert loss_against(judgment((0.9, 0.8), (4.0, 2.0)), rule) == pytest.approx(0.0)
    saves = loss_against(judgment((0.9, 0.8), (2.0, 2.0)), rule)
    assert saves == pytest.approx(np.log(0.5) / 2)
    wastes = loss_against(judgment((0.9, 0.8), (2.0, 4.0)), rule)
    # What was saved is no excuse, but for noise.
    assert wastes == pytest.approx(10 * (np.log(2.0) - 0.01))
    surer = loss_against(judgment((0.95, 0.8), (4.0, 2.0)), rule)
    assert surer == pytest.approx(0.0)  # than the rule ever is
    assert loss_against(judgment((0.5, 0.5), (0.0, 0.0)), rule) == 0.0
    small = dataclasses.replace(rule, paid=1e-6 * paid)
    found = loss_against(judgment((0.9, 0.8), (2e-6, 2e-6)), small, mean_cost=1e-6)
    assert found == pytest.approx(saves)  # in whatever money it is paid


def test_networks_without_tables_are_returned_as_they_are():
    plain = dataclasses.replace(SMALL, predictions=None)
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, plain, PriceRange(0.02, 0.2), key=key)
    )
    assert settle(nets, FAMILY, 64, seed=0) is nets
