"""Given tasks, played several times each."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact.player import Player
from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.checks import check_at_least
from icpe.core.family import AbstractTaskFamily
from icpe.play.rollout import Transcript, default_chunk_size, rollout


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
