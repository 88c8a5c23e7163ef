"""A quick look at an explorer at a few prices, on the same episodes."""

import json

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.episode import STOP
from icpe.core.explorer import AbstractExplorer
from icpe.evaluate.judge import Judgment, judge
from icpe.explorers.neural.explorer import NeuralExplorer
from support.toy_artifacts import guesser
from support.toy_tasks import TwoDoors

EPISODES = 128


class PeeksIfCheap(AbstractExplorer):
    """Peeks at the doors once if that costs less than a quarter, then stops.

    It believes a peek with probability 0.9, and before it the left door with 0.6.
    """

    def init(self, spec, operating_point, first_outcome):
        return operating_point.price, jnp.zeros(()), jnp.log(jnp.asarray([0.6, 0.4]))

    def ask(self, state, query_mask, *, key):
        price, peeks, _ = state
        return jnp.where((price < 0.25) & (peeks == 0), 0, STOP)

    def tell(self, state, query, outcome):
        price, peeks, _ = state
        right = jnp.where(outcome[0] > 0, 0.9, 0.1)
        return price, peeks + 1, jnp.log(jnp.stack([1 - right, right]))

    def recommend(self, state):
        return jnp.argmax(state[2])

    def log_posterior(self, state):
        return state[2]


@pytest.fixture(scope="module")
def judged():
    explorer, family = PeeksIfCheap(), TwoDoors()
    return judge(explorer, family, (0.1, 0.2, 0.5, 0.6), EPISODES, key=jr.key(0))


def test_every_price_has_what_is_done_there(judged):
    assert judged.accuracy[:2] == (1.0, 1.0)
    assert judged.mean_queries == judged.mean_cost == (1.0, 1.0, 0.0, 0.0)
    np.testing.assert_allclose(judged.sureness, [0.9, 0.9, 0.6, 0.6], rtol=1e-5)
    # The left door is right half of the time; five standard errors, 6e-7.
    assert judged.accuracy[2] == pytest.approx(0.5, abs=5 * 0.5 / EPISODES**0.5)


def test_the_episodes_are_the_same_at_every_price_and_others_with_another_key(judged):
    assert judged.accuracy[2] == judged.accuracy[3]
    others = [
        judge(PeeksIfCheap(), TwoDoors(), (0.5,), EPISODES, key=jr.key(seed))
        for seed in range(1, 6)
    ]
    # Six times the same number of 128 has a probability below 1e-5.
    assert {judged.accuracy[2]} != {other.accuracy[0] for other in others}


def test_values_are_accuracy_less_cost(judged):
    np.testing.assert_allclose(
        judged.values, [0.9, 0.8, judged.accuracy[2], judged.accuracy[2]]
    )


def test_a_trained_explorer_is_judged():
    artifact = guesser(size=4)
    found = judge(
        NeuralExplorer(artifact.universal_nets.for_play()),
        artifact.family,
        (0.05, 0.1),
        EPISODES,
        key=jr.key(0),
    )
    np.testing.assert_allclose(found.sureness, 0.25, rtol=1e-5)
    assert found.mean_queries == (0.0, 0.0)
    assert found.accuracy[0] == pytest.approx(0.25, abs=5 * 0.44 / EPISODES**0.5)


MADE_UP = Judgment(
    prices=(0.01, 0.1),
    accuracy=(0.99, 0.9),
    sureness=(0.98, 0.9),
    mean_queries=(8.0, 4.0),
    mean_cost=(16.0, 4.0),
)


def test_the_sentence_is_about_the_point_closest_to_an_accuracy():
    assert MADE_UP.sentence(0.95, 256) == (
        "right in 99.0 % of 256 episodes with 8.0 queries"
    )
    assert MADE_UP.sentence(0.8, 64) == (
        "right in 90.0 % of 64 episodes with 4.0 queries"
    )


def test_the_record_can_be_written_as_json():
    assert json.loads(json.dumps(MADE_UP.record()))["mean_cost"] == [16.0, 4.0]


def test_what_is_saved_is_a_share_of_the_cost_with_sureness_at_its_price():
    cheaper = Judgment((0.01, 0.1), (0.0, 0.0), (0.98, 0.9), (0, 0), (12.0, 4.0))
    assert cheaper.saves(MADE_UP) == pytest.approx((4 / 16 + 0) / 2)
    surer = Judgment((0.01, 0.1), (0.0, 0.0), (0.99, 0.9), (0, 0), (16.0, 4.0))
    assert surer.saves(MADE_UP) == pytest.approx((0.01 / 0.01 / 16 + 0) / 2)
    assert MADE_UP.saves(MADE_UP) == 0.0


def test_other_prices_are_judged_by_the_same_program(monkeypatch):
    traces = []
    original = PeeksIfCheap.init

    def counting(self, *given):
        traces.append(1)
        return original(self, *given)

    monkeypatch.setattr(PeeksIfCheap, "init", counting)
    counts = []
    for price in (0.11, 0.12):
        judge(PeeksIfCheap(), TwoDoors(horizon=5), (price,), 8, key=jr.key(0))
        counts.append(len(traces))
    assert counts[0] == counts[1] > 0
