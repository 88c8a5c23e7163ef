"""Training starts from the exact belief of a family, of whatever kind it is."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.core.belief import AbstractBelief
from icpe.core.family import plain_step
from icpe.core.likelihood import LikelihoodBelief, likelihood_belief
from icpe.core.request import OperatingPoint
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.predicted import belief_of
from icpe.families import NoisyBinarySearch, RandomTests, SourceOnALine
from icpe.learn.given import given_belief, given_posterior, given_tables
from icpe.learn.random_play import RandomQueries
from icpe.nets.exact import ExactPredictions
from icpe.nets.looking_ahead import TabledBelief
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import rollout
from support.random_weights import random_weights

LINE = SourceOnALine(num_cells=4, reach=2.0, noise=0.3, horizon=6)
SEARCH = NoisyBinarySearch(size=5)
SYMBOLS = np.array([[-1.0], [0.0], [1.0]], np.float32)


def history_of(family, episodes=4):
    point = OperatingPoint.at(family.spec.horizon, budget=4)
    keys = jr.split(jr.key(0), episodes)
    return rollout(RandomQueries(), family, point, keys=keys).history


def states_of(predictions, history):
    return jax.vmap(predictions.along)(history.queries, history.outcomes)


def test_a_likelihood_of_one_number_is_the_start():
    found = given_belief(LINE, 2.0**23)
    assert isinstance(found, ExactPredictions)
    belief, exact = belief_of(found), likelihood_belief(LINE)
    history = history_of(LINE)
    states = states_of(found, history)
    told = found.told(states, jnp.zeros((*states.shape[:2], 4)))
    for position in range(5):
        state = jax.tree.map(lambda leaf, at=position: leaf[1, at], states)
        np.testing.assert_allclose(
            told.log_posterior[1, position], exact.log_posterior(state), atol=1e-5
        )
        np.testing.assert_allclose(
            belief.information_gains(state), exact.information_gains(state), atol=1e-5
        )


def test_what_takes_too_long_looks_ahead_less_finely_or_not_at_all():
    fine = given_belief(LINE, 2.0**23)
    assert fine is not None
    cells = fine.shape(1.0).num_cells
    found = [given_belief(LINE, float(2**power)) for power in range(10, 24)]
    sizes = [0 if it is None else it.shape(1.0).num_cells for it in found]
    assert sizes[0] == 0 and sizes[-1] == cells
    assert sizes == sorted(sizes) and len(set(sizes)) > 2
    coarse = next(it for it in found if it is not None)
    state = likelihood_belief(LINE).init(jnp.zeros(1))
    fine_gains = belief_of(fine).information_gains(state)
    gains = belief_of(coarse).information_gains(state)
    assert np.all(gains <= fine_gains + 1e-6)
    assert np.all(gains > 0.7 * fine_gains)


class Reticent(AbstractBelief):
    """Does not say what queries will tell."""

    inner: LikelihoodBelief | AbstractBelief

    def init(self, first_outcome):
        return self.inner.init(first_outcome)

    def update(self, state, query, outcome):
        return self.inner.update(state, query, outcome)

    def log_posterior(self, state):
        return self.inner.log_posterior(state)


class ReticentSearch(NoisyBinarySearch):
    def exact_belief(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        return Reticent(super().exact_belief())


def test_a_posterior_that_does_not_look_ahead_does_so_by_tables():
    """With exact tables it is the belief that looks ahead by itself."""
    family = ReticentSearch(size=5)
    assert given_belief(family, 2.0**23) is None
    tables = given_tables(SEARCH, SYMBOLS, 2**20)
    assert tables is not None
    found = given_posterior(family, tables, 2.0**23)
    assert found is not None and isinstance(found.belief, TabledBelief)
    exact = SEARCH.exact_belief()
    state, known = found.start(jnp.zeros(1)), exact.init(jnp.zeros(1))
    for query, answer in ((2, 1.0), (3, 0.0), (1, 1.0)):
        outlook = found.belief.outlook(state)
        np.testing.assert_allclose(
            outlook.log_posterior, exact.log_posterior(known), atol=1e-5
        )
        np.testing.assert_allclose(
            outlook.information, exact.information_gains(known), atol=1e-5
        )
        assert outlook.right_after is not None
        assert np.all(outlook.right_after >= np.exp(outlook.log_posterior).max() - 1e-5)
        state = found.update(state, jnp.int32(query), jnp.float32([answer]))
        known = exact.update(known, jnp.int32(query), jnp.float32([answer]))
    assert given_posterior(family, tables, 1.0) is None
    assert given_posterior(SourceOnALine(num_cells=3), tables, 1.0) is None


@pytest.mark.parametrize("sure", [1.0, 100.0])
def test_tables_of_another_opinion_are_weighed_as_the_posterior_weighs(sure):
    """Their own evidence about the hypothesis does not count, however strong."""
    tables = given_tables(SEARCH, SYMBOLS, 2**20)
    assert tables is not None
    found = given_posterior(SEARCH, tables, 2.0**23)
    assert found is not None
    start = found.start(jnp.zeros(1))
    inner, weights = start
    odd = (inner, weights + sure * jnp.arange(5.0))
    np.testing.assert_allclose(
        found.belief.information_gains(odd),
        found.belief.information_gains(start),
        atol=1e-5,
    )


class Hinted(SourceOnALine):
    """The reset shows the source, of which the likelihood says nothing."""

    @property
    def spec(self):
        return dataclasses.replace(super().spec, reveals=True)

    def reset(self, task, *, key):
        return plain_step(self.spec, jnp.float32(self.hypothesis(task))[None])


def test_a_likelihood_is_no_start_where_the_reset_reveals_more():
    hinted = Hinted(num_cells=4, horizon=6)
    tables = given_tables(SEARCH, SYMBOLS, 2**20)
    assert tables is not None
    assert given_belief(hinted, np.inf) is None
    assert given_posterior(hinted, tables, np.inf) is None


def test_a_table_that_is_too_large_is_not_made():
    number = 4 * 3 * 2
    family = RandomTests(num_conditions=4, num_tests=3, num_results=2)
    symbols = np.array([[0.0], [1.0]], np.float32)
    assert given_tables(family, symbols, number) is not None
    assert given_tables(family, symbols, number - 1) is None


def predictions_for(kind):
    if kind == "likelihood":
        return LINE, given_belief(LINE, 2.0**23)
    tables = given_tables(SEARCH, SYMBOLS, 2**20)
    assert tables is not None
    return SEARCH, given_posterior(SEARCH, tables, 2.0**23)


@pytest.mark.parametrize("kind", ["likelihood", "belief-symbols"])
def test_files_bring_it_back(kind, tmp_path):
    family, predictions = predictions_for(kind)
    assert predictions is not None
    shape = predictions.shape(1.0)
    assert shape.kind == kind
    config = NetConfig(
        TransformerConfig(width=8, num_layers=1, num_heads=1), predictions=shape
    )
    prices = PriceRange(0.01, 0.2)
    shell = ExplorerNets.shell(family.spec, config, prices, predictions)
    nets = random_weights(lambda key: shell).with_predictions(
        predictions.with_caution(0.5)
    )
    artifact = Artifact(nets=nets, family=family, training={}, provenance={})
    artifact.save(tmp_path / "f.safetensors")
    again = Artifact.load(tmp_path / "f.safetensors").universal_nets
    assert again.predictions is not None
    assert float(again.predictions.caution) == 0.5
    history = history_of(family)
    told = eqx.filter_jit(lambda nets, history: nets.see(history).told)
    for one, other in zip(
        jax.tree.leaves(told(nets, history)),
        jax.tree.leaves(told(again, history)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)
