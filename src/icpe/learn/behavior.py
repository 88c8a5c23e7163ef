"""How the explorer behaves while it learns: it explores, and ignores wishes to stop."""

from typing import Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.episode import STOP
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.learn.config import TrainConfig


class TrainingPoint(OperatingPoint):
    """An operating point with the exploration rate of the episode."""

    exploration: Float[Array, "*batch"]


Inner = TypeVar("Inner", bound=AbstractExplorer)


class AbstractBehavior(AbstractExplorer, Generic[Inner]):
    """An explorer whose queries are disturbed while it learns; the rest is passed on.

    Its state is that of the inner explorer and the episode's exploration rate.
    """

    explorer: eqx.AbstractVar[Inner]

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> PyTree:
        """The inner explorer's state and the episode's exploration rate."""
        assert isinstance(operating_point, TrainingPoint)
        inner = self.explorer.init(spec, operating_point, first_outcome)
        return inner, operating_point.exploration

    def tell(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        inner, exploration = state
        return self.explorer.tell(inner, query, outcome), exploration

    def recommend(self, state: PyTree) -> Index:
        return self.explorer.recommend(state[0])

    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"] | None:
        return self.explorer.log_posterior(state[0])


class BehaviorExplorer(AbstractBehavior[NeuralExplorer]):
    """A neural explorer that makes random queries and ignores wishes to stop.

    With the episode's exploration rate a query is replaced by any allowed one, or in
    a share `high_rank` of the cases by one of high rank, the logarithm of the rank
    being uniform: among very many queries it matters which of the good ones is best.
    At rate 1, before anything is learned, every query is any allowed one. Each wish to
    stop is ignored with probability `ignore_stop`.
    """

    explorer: NeuralExplorer
    ignore_stop: Scalar
    high_rank: float = eqx.field(static=True, default=0.0)

    def ask(
        self, state: PyTree, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The inner explorer's choice, disturbed."""
        inner, exploration = state
        noise = jr.uniform(key, (query_mask.shape[0] + 3,))
        whether, which, heed, noise = noise[0], noise[1], noise[2], noise[3:]
        any_query = jnp.argmax(jnp.where(query_mask, noise, -1.0))
        greedy_query = self.explorer.best_query(inner, query_mask)
        query = jnp.where(whether < exploration, any_query, greedy_query)
        if self.high_rank:
            high_query = high_rank_query(inner.estimates.gain, query_mask, which)
            share = self.high_rank * jnp.minimum(exploration, 1.0 - exploration)
            query = jnp.where(whether < share, high_query, query)
        heeded = heed >= self.ignore_stop
        stop = self.explorer.wants_to_stop(inner, query_mask) & heeded
        return jnp.where(stop, STOP, query)


def high_rank_query(
    value: Float[Array, "queries"], allowed: Bool[Array, "queries"], uniform: Scalar
) -> Index:
    """The allowed query whose rank by value, from 1, is (number allowed + 1)^u."""
    ranked = jnp.argsort(jnp.where(allowed, value, -jnp.inf), descending=True)
    number = jnp.sum(allowed).astype(jnp.float32)
    rank = jnp.floor((number + 1.0) ** uniform).astype(jnp.int32)
    return ranked[jnp.maximum(rank, 1) - 1]


def draw_points(
    config: TrainConfig, spec: TaskSpec, prices: PriceRange, iteration, *, key: PRNGKey
) -> TrainingPoint:
    """A batch of operating points: what is asked of each episode.

    A third has a price alone, a third a budget alone (price 0), a third a price and a
    cap. Budgets and caps are log-uniform in one half of the batch and uniform in the
    other, so that long budgets are practiced too. Exploration rates spread
    geometrically over the batch.
    """
    size = config.batch_size
    price_key, budget_key, kind_key = jr.split(key, 3)
    log_low, log_high = jnp.log(prices.low), jnp.log(prices.high)
    price = jnp.exp(jr.uniform(price_key, (size,), minval=log_low, maxval=log_high))
    uniform = jr.uniform(budget_key, (size,))
    longest = spec.horizon + 1.0
    capped = jnp.where(
        jnp.arange(size) % 2 == 0,
        jnp.exp(uniform * jnp.log(longest)),
        1.0 + uniform * spec.horizon,
    )
    capped = jnp.clip(jnp.floor(capped), 1, spec.horizon).astype(jnp.int32)
    kind = jr.randint(kind_key, (size,), 0, 3)
    return TrainingPoint(
        price=jnp.where(kind == 1, 0.0, price),
        error_prob=jnp.zeros(size),
        max_queries=jnp.where(kind == 0, spec.horizon, capped),
        regime=Regime.MIXED,
        exploration=_exploration(config, iteration),
    )


def _exploration(config: TrainConfig, iteration: Int[Array, ""]):
    spread = jnp.geomspace(
        config.exploration_high, config.exploration_low, config.batch_size
    )
    floor = 1.0 - progress(config, iteration) / max(config.exploration_anneal, 1e-6)
    return jnp.maximum(spread, floor)


def ignore_stop_probability(config: TrainConfig, iteration) -> Scalar:
    """1 in the warm-up, then annealed to its final value."""
    fraction = progress(config, iteration) / max(config.ignore_stop_anneal, 1e-6)
    return jnp.maximum(config.ignore_stop_final, 1.0 - fraction)


def progress(config: TrainConfig, iteration) -> Scalar:
    """Fraction of training done since the warm-up, 0 during it."""
    done = iteration - config.warmup_iterations
    total = max(1, config.num_iterations - config.warmup_iterations)
    return jnp.clip(done / total, 0.0, 1.0)
