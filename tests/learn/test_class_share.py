"""When a greedy rule also wants to know the class of a task."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.family import AbstractTaskFamily, plain_reset, plain_step
from icpe.core.spec import TaskSpec
from icpe.families import AdaptiveTest
from icpe.families.finite import FiniteModelBelief
from icpe.learn.class_share import CLASS_SHARE
from icpe.learn.survey import survey
from icpe.nets.predictions import Predictions
from icpe.theory.finite_model import finite_model

HEADS = np.array([0.35, 0.65])


class Keyed(AbstractTaskFamily):
    """A coin falls mostly on one side; which of 4 queries shows it, a key tells.

    Queries 0 and 1 show the two bits of the key, exactly; 2 to 5 show the coin if
    they are the key's, and a fair one if not. The key is the class, the coin's side
    the hypothesis. `helps` False: every one of 2 to 5 shows the coin.
    """

    helps: bool

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(6, 2, outcome_size=1, horizon=12)

    def law(self):
        """P(1) in each class, hypothesis by hypothesis, of each query."""
        rows = []
        for side in range(2):
            for key in range(4):
                shown = [
                    HEADS[side] if (it == key or not self.helps) else 0.5
                    for it in range(4)
                ]
                rows.append([float(key // 2), float(key % 2), *shown])
        return np.array(rows)

    def sample_task(self, *, key):
        return jr.randint(key, (), 0, 8)

    def hypothesis(self, task):
        return task // 4

    def reset(self, task, *, key):
        return plain_reset(self.spec)

    def step(self, state, query, task, *, key):
        chance = jnp.asarray(self.law(), jnp.float32)[task, query]
        return plain_step(self.spec, jr.bernoulli(key, chance).astype(float)[None])

    def exact_belief(self):
        law = self.law()
        table = np.stack([1.0 - law, law], axis=2)
        classes = np.arange(8) // 4
        return FiniteModelBelief(finite_model(np.full(8, 1 / 8), table, classes))


@pytest.mark.parametrize(("helps", "share"), [(True, CLASS_SHARE), (False, 0.0)])
def test_the_class_is_asked_for_where_that_pays(helps, share):
    """By construction: two queries for the key make each later one four times as
    informative, or are wasted."""
    found = survey(Keyed(helps), "cpu")
    assert isinstance(found.given, Predictions)
    assert found.given.class_share == share
    assert found.greedy is not None
    first = np.asarray(found.greedy.queries[:, 0])
    assert np.all((first < 2) == helps)


@pytest.mark.slow
def test_an_adaptive_test_asks_about_the_ability_too():
    found = survey(AdaptiveTest(num_items=40, num_bands=4, horizon=30, draw=3), "cpu")
    assert isinstance(found.given, Predictions)
    assert found.given.class_share == CLASS_SHARE
