"""One recipe for every family and machine; on a CPU it beats uniform queries."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.explorers import AbstractExplorer, make_explorer
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import make
from icpe.families.registry import family_names
from icpe.learn import recipe as recipes
from icpe.learn.fit import fit
from icpe.learn.learner import UniversalLearner
from icpe.learn.recipe import recipe
from icpe.learn.survey import survey
from icpe.play.rollout import run_episodes

EPISODES = 16_384

# Small sizes, and a budget at which it matters what is asked.
CASES = {
    "binary-search": ({"size": 8}, 2),
    "noisy-binary-search": ({"size": 6, "noise": 0.1, "horizon": 12}, 6),
    "deterministic-bandit": ({"num_arms": 5}, 5),
    "gaussian-bandit": ({"num_arms": 4, "horizon": 16}, 10),
    "bernoulli-bandit": ({"num_arms": 3, "batch_size": 10, "horizon": 12}, 9),
    "magic-action": ({"num_arms": 5, "magic_noise": 0.1, "horizon": 8}, 2),
    "magic-chain": ({"num_arms": 5, "num_magic": 2}, 2),
    "two-pull-bandit": ({"num_arms": 5, "horizon": 6}, 2),
    "feedback-graph": ({"kind": "loopy-star", "num_arms": 4, "horizon": 16}, 12),
    "magic-room": ({"size": 4}, 16),
    "random-tests": ({"num_conditions": 8, "num_tests": 12, "spread": 0.2}, 3),
    "adaptive-test": ({"num_items": 40, "horizon": 12}, 8),
    "group-testing": ({"num_items": 6, "num_pools": 16, "horizon": 12}, 4),
    "battleship": ({"size": 4}, 4),
    "likelihoods": ({}, 2),
    "network": ({}, 2),
    "item-bank": ({}, 4),
    "source-on-a-line": ({"num_cells": 12, "reach": 2.0, "horizon": 12}, 4),
    "patches": ({"images": "drawn-digits", "patch_size": 10, "horizon": 4}, 3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_every_family_has_a_recipe_for_every_machine(name):
    parameters, _ = CASES[name]
    family = make(name, **parameters)
    found = survey(family)
    cpu, gpu = (recipe(machine, family, found) for machine in ("cpu", "gpu"))
    assert gpu.num_updates > cpu.num_updates
    for config in (cpu, gpu):
        learner = UniversalLearner(family, config, found)
        nets = eqx.filter_eval_shape(learner.new_networks, key=jr.key(0))
        assert 0 < nets.prices.low < nets.prices.high


def test_every_family_that_is_trained_for_has_a_case():
    untrained = {"shifted-gaussian-bandit", "table", "best-of-k", "gymnasium"}
    assert set(CASES) == set(family_names()) - untrained


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_cpu_recipe_beats_uniform_queries(name, optax_dtypes, whole_surveys):
    """Four standard errors of the difference: a false alarm has probability 3e-5."""
    parameters, budget = CASES[name]
    family = make(name, **parameters)
    nets = fit(family, recipe("cpu", family)).nets
    assert isinstance(nets, ExplorerNets)
    trained = NeuralExplorer(nets.for_play())
    if name in ("magic-room", "patches"):  # no exact belief; the trained posterior
        uniform = UniformQueries(trained)
    else:
        uniform = make_explorer("uniform", family)
    point = OperatingPoint.at(family.spec.horizon, budget=budget)
    ours, theirs = (
        float(
            np.mean(
                run_episodes(explorer, family, point, EPISODES, key=jr.key(7)).correct
            )
        )
        for explorer in (trained, uniform)
    )
    print(f"{name}: trained {ours:.4f}, uniform {theirs:.4f} at budget {budget}")
    error = np.sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / EPISODES)
    assert ours > theirs + 4 * error


class UniformQueries(AbstractExplorer):
    """Uniform queries that are answered by a trained explorer's posterior."""

    answering: NeuralExplorer

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> PyTree:
        return self.answering.init(spec, operating_point, first_outcome)

    def ask(
        self, state: PyTree, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        return jr.categorical(key, jnp.where(query_mask, 0.0, -jnp.inf))

    def tell(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        return self.answering.tell(state, query, outcome)

    def recommend(self, state: PyTree) -> Index:
        return self.answering.recommend(state)

    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"]:
        return self.answering.log_posterior(state)


@pytest.mark.parametrize("times, number", [(0.5, 256), (1.5, 128), (3, 64), (100, 64)])
def test_fewer_episodes_are_played_where_each_takes_long(times, number):
    family = make("network")
    slow = dataclasses.replace(
        survey(family), operations=times * recipes.SIZES["cpu"].belief, given=None
    )
    config = recipe("cpu", family, slow)
    assert (config.batch_size, config.minibatch_size) == (number, number)


@pytest.mark.parametrize("tests, number", [(96, 256), (160, 128), (300, 64)])
def test_a_gradient_step_has_fewer_episodes_where_queries_are_many(tests, number):
    family = make("random-tests", num_tests=tests, horizon=64)
    config = recipe("cpu", family, survey(make("network")))
    assert (config.batch_size, config.minibatch_size) == (256, number)
