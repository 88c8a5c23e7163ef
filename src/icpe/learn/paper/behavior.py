"""How the paper's explorer behaves while it learns: epsilon-greedily."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Int

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.spec import TaskSpec
from icpe.core.stopping import random_query
from icpe.explorers.neural.paper import PaperExplorer
from icpe.learn.behavior import AbstractBehavior, TrainingPoint
from icpe.learn.paper.config import PaperConfig


class EpsilonGreedy(AbstractBehavior[PaperExplorer]):
    """Makes a random query with the episode's exploration rate, else acts greedily.

    Stopping is never drawn at random: its value is learned everywhere by pretending
    to stop, so it needs no exploration.
    """

    explorer: PaperExplorer

    def ask(
        self, state: PyTree, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """A random query, or the inner explorer's choice."""
        inner, exploration = state
        explore_key, query_key, own_key = jr.split(key, 3)
        return jnp.where(
            jr.uniform(explore_key) < exploration,
            random_query(query_mask, key=query_key),
            self.explorer.ask(inner, query_mask, key=own_key),
        )


def training_points(
    config: PaperConfig, spec: TaskSpec, iteration: Int[Array, ""]
) -> TrainingPoint:
    """The objective for every episode of a batch; the first ones do not explore."""
    point = config.objective.operating_point(spec.horizon)
    size = config.batch_size
    explores = jnp.arange(size) >= config.num_greedy
    return TrainingPoint(
        price=jnp.broadcast_to(point.price, (size,)),
        error_prob=jnp.broadcast_to(point.error_prob, (size,)),
        max_queries=jnp.broadcast_to(point.max_queries, (size,)),
        regime=point.regime,
        exploration=jnp.where(explores, exploration_rate(config, iteration), 0.0),
    )


def exploration_rate(config: PaperConfig, iteration: Int[Array, ""]) -> Scalar:
    """Falls linearly, then stays."""
    annealed = max(1.0, config.exploration_anneal * config.num_iterations)
    fraction = jnp.minimum(iteration.astype(jnp.float32) / annealed, 1.0)
    fall = config.exploration_end - config.exploration_start
    return config.exploration_start + fall * fraction
