"""Engines: what ends early waits for its turn; evaluation does not care who plays."""

import random

import jax.random as jr
import numpy as np

from icpe.core.engine import (
    AbstractEngine,
    LocalEngine,
    chosen_engine,
    in_order,
    spread_over,
)
from icpe.evaluate import evaluate
from icpe.explorers import make_explorer
from icpe.families import BinarySearch
from icpe.play.rollout import rollout_chunks


class Shuffled(AbstractEngine):
    """Does everything here, in an order of its own."""

    def __init__(self):
        self.ran = []

    def run(self, work, items):
        numbers = list(range(len(items)))
        random.Random(0).shuffle(numbers)
        for number in numbers:
            self.ran.append(items[number])
            yield number, work(items[number])


def test_results_come_in_the_order_of_the_items():
    items = list(range(20))
    for engine in (LocalEngine(), Shuffled()):
        assert list(in_order(engine, lambda n: n * n, items)) == [n * n for n in items]


def test_an_engine_is_chosen_within_its_block_alone():
    engine = Shuffled()
    assert chosen_engine() is None
    with spread_over(engine):
        assert chosen_engine() is engine
    assert chosen_engine() is None


def test_episodes_are_the_same_whoever_plays_them():
    family = BinarySearch(size=8)
    explorer = make_explorer("uniform", family)
    asked = {"error_prob": 0.1, "episodes": 700, "seed": 5}
    (here,) = evaluate({"it": explorer}, family, **asked)
    engine = Shuffled()
    with spread_over(engine):
        (there,) = evaluate({"it": explorer}, family, **asked)
    assert here == there and engine.ran


def test_chunks_that_end_out_of_order_are_put_in_order():
    family = BinarySearch(size=8)
    explorer = make_explorer("uniform", family)
    from icpe.core.request import OperatingPoint

    point = OperatingPoint.at(family.spec.horizon, budget=3)
    given = (explorer, family, point, 300)
    asked = {"key": jr.key(1), "chunk_size": 64, "start": 7}
    here = [it.ending.recommendation for it in rollout_chunks(*given, **asked)]
    engine = Shuffled()
    with spread_over(engine):
        there = [it.ending.recommendation for it in rollout_chunks(*given, **asked)]
    assert [len(it) for it in here] == [64, 64, 64, 64, 44]
    assert sorted(engine.ran) == [7, 71, 135, 199, 263] != engine.ran
    np.testing.assert_array_equal(np.concatenate(here), np.concatenate(there))
