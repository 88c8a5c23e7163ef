"""An adaptive test: in which band is a person's ability?"""

import functools as ft
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.checks import check_seed
from icpe.core.family import (
    QueryAxis,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.item_test import AbstractItemTest
from icpe.theory.item_response import Items, Quadrature, quadrature


class Bank(NamedTuple):
    """Discrimination and difficulty of each item (two-parameter logistic model)."""

    discrimination: Float[np.ndarray, "items"]
    difficulty: Float[np.ndarray, "items"]


class AdaptiveTest(AbstractItemTest):
    """Items of known difficulty; in which of several bands is the ability?

    The ability is standard normal, and cut points divide it into bands of equal
    probability. Item i is answered correctly with probability 1 / (1 + exp(-a_i
    (ability - b_i))), each item once, answers independent given the ability. The
    discriminations a are log-normal, the difficulties b normal, drawn once by `draw`.
    """

    num_items: int = parameter(300, "items in the bank", at_least=1)
    num_bands: int = parameter(3, "bands of ability", at_least=2)
    horizon: int = parameter(60, "most items in a test", at_least=1)
    draw: int = parameter(0, "which bank is drawn")

    def __check_init__(self):
        check_ranges(self)
        check_seed("draw", self.draw)

    @property
    def bank(self) -> Bank:
        """The items."""
        return _bank(self.num_items, self.draw)

    @property
    def cuts(self) -> Float[np.ndarray, "cuts"]:
        """The abilities that divide the bands."""
        return ndtri(np.arange(1, self.num_bands) / self.num_bands)

    @property
    def spec(self) -> TaskSpec:
        """A query puts an item; the hypotheses are the bands."""
        return TaskSpec(
            num_queries=self.num_items,
            num_hypotheses=self.num_bands,
            outcome_size=1,
            horizon=min(self.horizon, self.num_items),
            query_names=tuple(f"item {i}" for i in range(self.num_items)),
            hypothesis_names=tuple(f"band {i + 1}" for i in range(self.num_bands)),
            outcome_names=("correct",),
            outcome_labels=(("wrong", (0.0,)), ("right", (1.0,))),
            question="Put {query}: is the answer right or wrong?",
            reveals=False,
            may_end=False,
            ask_once=True,
        )

    def sample_task(self, *, key: PRNGKey) -> Scalar:
        return jr.normal(key)

    def reset(self, task: Scalar, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Scalar, *, key: PRNGKey
    ) -> StepResult:
        slope = jnp.asarray(self.bank.discrimination, jnp.float32)[query]
        place = jnp.asarray(self.bank.difficulty, jnp.float32)[query]
        right = jr.bernoulli(key, jax.nn.sigmoid(slope * (task - place)))
        return plain_step(self.spec, right.astype(jnp.float32)[None])

    def hypothesis(self, task: Scalar) -> Index:
        cuts = jnp.asarray(self.cuts, jnp.float32)
        return jnp.sum(task > cuts, dtype=jnp.int32)

    def items(self) -> Items:
        slope, place = self.bank
        return Items(slope, place[:, None], np.zeros_like(slope))

    def cut_scores(self) -> Float[np.ndarray, "cuts"]:
        return self.cuts

    def quadrature(self) -> Quadrature:
        return quadrature(self.cuts, 0.0, 1.0)

    def query_axis(self) -> QueryAxis:
        return QueryAxis("difficulty", tuple(self.bank.difficulty.tolist()))

    def query_note(self, query: int) -> str:
        slope, place = self.bank.discrimination[query], self.bank.difficulty[query]
        return f"difficulty {place:+.2f}, discrimination {slope:.2f}"


@ft.lru_cache
def _bank(num_items: int, draw: int) -> Bank:
    # The legacy generator of numpy is frozen, so these banks never change.
    random = np.random.RandomState(draw)
    return Bank(
        discrimination=np.exp(0.3 * random.standard_normal(num_items)),
        difficulty=random.standard_normal(num_items),
    )
