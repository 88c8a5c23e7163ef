"""Group testing: which of several items are faulty, by testing pools of them?"""

import functools as ft
import itertools
import math

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.checks import check_between, check_seed
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.finite import AbstractFiniteFamily, FiniteModelBelief
from icpe.theory.finite_model import finite_model

_MOST_ITEMS, _MOST_SETS = 1024, 100_000


class GroupTesting(AbstractFiniteFamily):
    """A few of the items are faulty; a test of a pool tells whether any of its are.

    All sets of `num_faulty` items are equally probable. A pool with a faulty item tests
    positive with probability `sensitivity`, one without with 1 - `specificity`. Each of
    the pools, drawn once by `draw`, holds each item with probability 1 / (1 +
    num_faulty); a pool may be tested again.
    """

    num_items: int = parameter(
        16, "how many items there are", at_least=2, at_most=_MOST_ITEMS
    )
    num_faulty: int = parameter(2, "how many of them are faulty")
    num_pools: int = parameter(64, "how many pools can be tested", at_least=1)
    sensitivity: float = parameter(
        0.95, "probability that a faulty pool is noticed", at_least=0.0, at_most=1.0
    )
    specificity: float = parameter(
        0.98, "probability that a sound pool is cleared", at_least=0.0, at_most=1.0
    )
    horizon: int = parameter(40, "most tests", at_least=1)
    draw: int = parameter(0, "which pools are drawn")

    def __check_init__(self):
        check_ranges(self)
        check_between("num_faulty", self.num_faulty, 1, self.num_items - 1)
        if math.comb(self.num_items, self.num_faulty) > _MOST_SETS:
            raise InvalidParameterError(
                f"num_faulty must leave at most {_MOST_SETS} sets of faulty items; got "
                f"{self.num_faulty} of {self.num_items}."
            )
        check_seed("draw", self.draw)
        if self.sensitivity + self.specificity <= 1.0:
            raise InvalidParameterError(
                "sensitivity and specificity must add up to more than 1, else a test "
                f"tells nothing; got {self.sensitivity} and {self.specificity}."
            )

    @property
    def positive(self) -> Float[np.ndarray, "sets pools"]:
        """P(positive) of each pool, for each set of faulty items."""
        hit = _hits(self.num_items, self.num_faulty, self.num_pools, self.draw)
        return np.where(hit, self.sensitivity, 1.0 - self.specificity)

    @property
    def spec(self) -> TaskSpec:
        """A query tests a pool; the hypotheses are the sets of faulty items."""
        sets = _sets(self.num_items, self.num_faulty)
        return TaskSpec(
            num_queries=self.num_pools,
            num_hypotheses=len(sets),
            outcome_size=1,
            horizon=self.horizon,
            query_names=self._pool_names,
            hypothesis_names=tuple(" and ".join(map(str, some)) for some in sets),
            outcome_names=("result",),
            outcome_labels=(("negative", (0.0,)), ("positive", (1.0,))),
            question="Test {query}: negative or positive?",
            reveals=False,
            may_end=False,
        )

    @property
    def _pool_names(self) -> tuple[str, ...]:
        pools = _pools(self.num_items, self.num_faulty, self.num_pools, self.draw)
        return tuple(
            f"pool {i} ({' '.join(map(str, np.flatnonzero(pool)))})"
            for i, pool in enumerate(pools)
        )

    def sample_task(self, *, key: PRNGKey) -> Int[Array, ""]:
        return jr.randint(key, (), 0, self.spec.num_hypotheses)

    def reset(self, task: Int[Array, ""], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, ""], *, key: PRNGKey
    ) -> StepResult:
        positive = jnp.asarray(self.positive, jnp.float32)[task, query]
        result = jr.bernoulli(key, positive)
        return plain_step(self.spec, result.astype(jnp.float32)[None])

    def hypothesis(self, task: Int[Array, ""]) -> Index:
        return task

    def log_likelihood(
        self, hypothesis: Index, query: Index, outcome: Float[Array, "outcome"]
    ) -> Scalar:
        positive = jnp.asarray(self.positive, jnp.float32)[hypothesis, query]
        return jnp.log(jnp.where(outcome[0] > 0.5, positive, 1.0 - positive))

    def exact_belief(self) -> FiniteModelBelief:
        return self.finite_belief()

    def finite_belief(self) -> FiniteModelBelief:
        """A task for each set."""
        positive = self.positive
        likelihood = np.stack([1.0 - positive, positive], axis=-1)
        number = len(positive)
        return FiniteModelBelief(finite_model(np.full(number, 1 / number), likelihood))


@ft.lru_cache
def _sets(num_items: int, num_faulty: int) -> tuple[tuple[int, ...], ...]:
    return tuple(itertools.combinations(range(num_items), num_faulty))


@ft.lru_cache
def _pools(
    num_items: int, num_faulty: int, num_pools: int, draw: int
) -> Bool[np.ndarray, "pools items"]:
    """The items of each pool."""
    # The legacy generator of numpy is frozen, so these pools never change.
    random = np.random.RandomState(draw)
    return random.random_sample((num_pools, num_items)) < 1.0 / (1.0 + num_faulty)


@ft.lru_cache
def _hits(
    num_items: int, num_faulty: int, num_pools: int, draw: int
) -> Bool[np.ndarray, "sets pools"]:
    """Whether each pool holds one of each set."""
    pools = _pools(num_items, num_faulty, num_pools, draw)
    sets = np.array(_sets(num_items, num_faulty))
    return np.any(pools[:, sets], axis=-1).T
