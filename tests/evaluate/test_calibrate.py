"""The operating table is what the explorer does, measured on one set of episodes."""

import dataclasses
import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.core.errors import OperatingPointError
from icpe.core.progress import AbstractProgress
from icpe.evaluate.calibrate import calibrate, calibration_key
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import run_episodes
from icpe.theory.intervals import clopper_pearson_lower
from support.random_weights import random_weights
from support.toy_tasks import TwoBits

FAMILY = TwoBits()
EPISODES = 40


class Heard(AbstractProgress):
    def start(self, label, total):
        self.label, self.total, self.done, self.finished = label, total, 0, False

    def advance(self, amount):
        self.done += amount

    def finish(self):
        self.finished = True


@ft.cache
def artifact():
    config = NetConfig(TransformerConfig(width=4, num_layers=1, num_heads=1))
    nets = random_weights(
        lambda key: ExplorerNets(FAMILY.spec, config, PriceRange(0.01, 0.2), key=key)
    )
    return Artifact(nets=nets, family=FAMILY, training={}, provenance={})


@ft.cache
def table():
    return calibrate(artifact(), episodes=EPISODES, seed=4, max_queries=[2])


@pytest.mark.slow
def test_there_are_64_log_spaced_prices_for_each_cap_and_all_budgets():
    for cap in (2, 3):
        prices = [row.price or 0.0 for row in table().priced(cap)]
        assert len(prices) == 64
        np.testing.assert_allclose(prices, np.geomspace(0.01, 0.2, 64))
    assert [row.max_queries for row in table().budgets()] == [1, 2, 3]
    assert (table().horizon, table().seed) == (3, 4)


@pytest.mark.parametrize("request_of", ["price", "price and cap", "budget"])
def test_a_row_is_what_the_explorer_does(request_of):
    key = calibration_key(4)
    row, request = {
        "price": lambda: (table().priced()[20], ("price", "max_queries")),
        "price and cap": lambda: (table().priced(2)[5], ("price", "max_queries")),
        "budget": lambda: (table().budgets()[1], ("budget",)),
    }[request_of]()
    named = {**dataclasses.asdict(row), "budget": row.max_queries}
    point = artifact().operating_point(**{name: named[name] for name in request})
    ending = run_episodes(artifact().explorer, FAMILY, point, EPISODES, key=key)
    made = np.sort(ending.num_queries)
    assert row.episodes == EPISODES
    assert row.accuracy == ending.correct.mean()
    lowest = clopper_pearson_lower(int(ending.correct.sum()), EPISODES)
    assert row.lower_bound == pytest.approx(float(lowest))
    assert row.mean_queries == pytest.approx(made.mean())
    assert row.mean_cost == pytest.approx(ending.cost.mean(), rel=1e-5)
    # The smallest number that so many of the 40 episodes do not exceed.
    assert row.quantiles == (made[19], made[35], made[39])
    assert row.longest == made[-1]


def test_evaluation_never_draws_the_episodes_of_calibration():
    def keys(key):
        numbers = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(10_000))
        return set(map(tuple, np.asarray(jr.key_data(numbers)).tolist()))

    assert not keys(jr.key(4)) & keys(calibration_key(4))


def test_every_row_is_told():
    progress = Heard()
    calibrate(artifact(), episodes=EPISODES, progress=progress)
    assert (progress.label, progress.total, progress.done) == ("calibrating", 67, 67)
    assert progress.finished


@pytest.mark.parametrize("cap", [0, 4])
def test_a_cap_outside_the_horizon_is_refused(cap):
    with pytest.raises(OperatingPointError, match=f"horizon 3; got {cap}"):
        calibrate(artifact(), max_queries=[cap])
