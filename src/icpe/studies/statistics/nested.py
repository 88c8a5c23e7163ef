"""Several explorers on the same environments, several trajectories in each.

The layout of the paper's experiments: training seed, environment, trajectory. The
results go to `hierarchical_bootstrap`.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float, Int

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.benchmark import Contender, Player, Request
from icpe.play.rollout import Transcript, default_chunk_size, rollout
from icpe.studies.statistics.bootstrap import BootstrapInterval, hierarchical_bootstrap


@dataclasses.dataclass(frozen=True)
class NestedResults:
    """How every trajectory ended; the axes are seed, environment and trajectory."""

    correct: Bool[np.ndarray, "seeds environments trajectories"]
    num_queries: Int[np.ndarray, "seeds environments trajectories"]
    cost: Float[np.ndarray, "seeds environments trajectories"]

    def accuracy(self, confidence: float = 0.95, *, seed: int = 0) -> BootstrapInterval:
        """Fraction of right answers, cut to [0, 1]."""
        found = hierarchical_bootstrap(
            self.correct.astype(float), confidence=confidence, seed=seed
        )
        return found._replace(low=max(found.low, 0.0), high=min(found.high, 1.0))

    def mean_queries(
        self, confidence: float = 0.95, *, seed: int = 0
    ) -> BootstrapInterval:
        """Mean number of queries, not below 0."""
        found = hierarchical_bootstrap(
            self.num_queries.astype(float), confidence=confidence, seed=seed
        )
        return found._replace(low=max(found.low, 0.0))


def evaluate_nested(
    contenders: Sequence[Contender],
    family: AbstractTaskFamily,
    *,
    environments: int,
    trajectories: int,
    error_prob: float | None = None,
    budget: int | None = None,
    price: float | None = None,
    max_queries: int | None = None,
    seed: int = 0,
) -> NestedResults:
    """Plays every contender on the same environments, several times on each.

    Args:
        contenders: one explorer per training seed.
        family: where the environments come from.
        environments: number of environments (tasks).
        trajectories: episodes on each environment, with noise of their own.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost.
        max_queries: cap on the queries, beside a price or an error probability.
        seed: seed of environments and noise.

    Raises:
        OperatingPointError: the request is malformed, or cannot be served.
    """
    if not contenders:
        raise InvalidParameterError("contenders must not be empty; give one or more.")
    check_at_least("environments", environments, 1)
    request = Request(error_prob, budget, price, max_queries)
    task_key, play_key = jr.split(jr.key(seed))
    tasks = sample_tasks(family, environments, key=task_key)
    rows = []
    for contender in contenders:
        player = request.put_to(contender, family)
        chunks = play_tasks(player, family, tasks, trajectories, key=play_key)
        endings = [chunk.ending for chunk in chunks]
        rows.append(jax.tree.map(lambda *leaves: np.concatenate(leaves), *endings))
    shape = (len(contenders), environments, trajectories)
    return NestedResults(
        correct=np.reshape([row.correct for row in rows], shape),
        num_queries=np.reshape([row.num_queries for row in rows], shape),
        cost=np.reshape([row.cost for row in rows], shape).astype(float),
    )


def sample_tasks(family: AbstractTaskFamily, number: int, *, key: PRNGKey) -> PyTree:
    """Tasks drawn from the prior, with a leading axis."""
    return jax.vmap(lambda key: family.sample_task(key=key))(jr.split(key, number))


def play_tasks(
    player: Player,
    family: AbstractTaskFamily,
    tasks: PyTree,
    trajectories: int,
    *,
    key: PRNGKey,
) -> Iterator[Transcript]:
    """Plays every task several times, in compiled chunks of episodes.

    The transcripts, numpy arrays without posteriors, together have the trajectories
    of the first task first, then those of the second, and so on.
    """
    check_at_least("trajectories", trajectories, 1)
    total = jax.tree.leaves(tasks)[0].shape[0] * trajectories
    size = default_chunk_size(player.explorer, family, player.operating_point)
    size = min(size, total)
    for first in range(0, total, size):
        index = first + np.arange(size)
        chosen = np.minimum(index // trajectories, (total - 1) // trajectories)
        chunk = _play_chunk(
            player.explorer,
            family,
            player.operating_point,
            jax.tree.map(lambda leaf, chosen=chosen: leaf[chosen], tasks),
            key,
            jnp.asarray(index, jnp.int32),
        )
        kept = min(size, total - first)
        yield jax.tree.map(lambda leaf, kept=kept: np.asarray(leaf)[:kept], chunk)


@eqx.filter_jit
def _play_chunk(explorer, family, operating_point, tasks, key, index):
    keys = jax.vmap(jr.fold_in, in_axes=(None, 0))(key, index)
    transcript = rollout(explorer, family, operating_point, keys=keys, tasks=tasks)
    return eqx.tree_at(
        lambda t: t.ending.log_posterior, transcript, None, is_leaf=lambda x: x is None
    )
