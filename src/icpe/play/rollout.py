"""Run any explorer on a batch of tasks as one compiled program."""

import functools as ft
import math
from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.checks import check_num_episodes
from icpe.core.engine import LocalEngine, chosen_engine, in_order
from icpe.core.episode import STOP
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint
from icpe.play.lock_step import EpisodeInputs, LockStep

_NUMBERS_PER_PIXEL = 96
"""That are held at a time where pictures are drawn and convolved, about."""


class Ending(eqx.Module):
    """How each of a batch of episodes ended.

    `cost` is the sum of the costs of the queries; `log_posterior` is the explorer's
    belief at the end, None if it has none or if it was not kept.
    """

    num_queries: Int[Array, "episodes"]
    cost: Float[Array, "episodes"]
    stop_reason: Int[Array, "episodes"]
    recommendation: Int[Array, "episodes"]
    hypothesis: Int[Array, "episodes"]
    log_posterior: Float[Array, "episodes hypotheses"] | None

    @property
    def correct(self) -> Bool[Array | np.ndarray, "episodes"]:
        """Whether the recommendation is the truth."""
        return self.recommendation == self.hypothesis


class Transcript(eqx.Module):
    """A batch of whole episodes: what was asked and seen, and how it ended.

    `history` has a leading axis `episodes`. `query_masks[:, t]` are the queries that
    the family allowed at step t, all True after the end; None for families that never
    mask. That each query may be made once is not in them: `queries` tell.
    """

    history: History
    query_masks: Bool[Array, "episodes positions queries"] | None
    ending: Ending


def rollout(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
    *,
    keys: Key[Array, "episodes"],
    tasks: PyTree | None = None,
    full_length: bool = False,
) -> Transcript:
    """Runs one episode per key, all in lock step, until each has ended.

    The task, the world's noise at each step and the explorer's own randomness are
    separate functions of an episode's key, so explorers that are run with the same
    keys face the same tasks and the same noise. To be called under `jit`.

    Args:
        explorer: who asks.
        family: the world.
        operating_point: one for all episodes, or one each (leading axis `episodes`).
        keys: one key per episode.
        tasks: the tasks, with leading axis `episodes`; drawn from the prior if None.
        full_length: run the whole horizon without testing whether all have ended,
            which is faster where most episodes are long.
    """
    num_episodes = keys.shape[0]
    task_keys, world_keys, own_keys = _parts(keys)
    if tasks is None:
        tasks = jax.vmap(lambda key: family.sample_task(key=key))(task_keys)
    world = jax.vmap(lambda task, key: family.reset(task, key=jr.fold_in(key, 0)))(
        tasks, world_keys
    )
    caps = jnp.broadcast_to(operating_point.max_queries, (num_episodes,))
    is_budget = operating_point.is_budget(family.spec.horizon)
    given = EpisodeInputs(
        tasks,
        world_keys,
        own_keys,
        caps,
        jnp.broadcast_to(is_budget, (num_episodes,)),
    )
    lock_step = LockStep(explorer, family, operating_point)
    carry = lock_step.begin(operating_point, world, num_episodes)
    carry = lock_step.play_all(given, carry, full_length=full_length)
    num_queries = jnp.sum(carry.queries != STOP, axis=1, dtype=jnp.int32)
    return Transcript(
        history=History(carry.queries, carry.outcomes, num_queries),
        query_masks=carry.query_masks,
        ending=Ending(
            num_queries=num_queries,
            cost=carry.cost,
            stop_reason=carry.stop_reason,
            recommendation=lock_step.recommend(carry.explorer),
            hypothesis=jax.vmap(family.hypothesis)(tasks),
            log_posterior=lock_step.log_posterior(carry.explorer),
        ),
    )


def _parts(keys: Key[Array, "episodes"]) -> Key[Array, "3 episodes"]:
    """The keys of the task, of the world and of the explorer, for each episode."""
    return jax.vmap(lambda key: jr.split(key, 3), 0, 1)(keys)


def _episode_keys(key: PRNGKey, first, size: int) -> Key[Array, "episodes"]:
    return jax.vmap(jr.fold_in, in_axes=(None, 0))(key, first + jnp.arange(size))


@eqx.filter_jit
def episode_tasks(
    family: AbstractTaskFamily, num_episodes: int, *, key: PRNGKey
) -> PyTree:
    """The tasks of the first episodes that `run_episodes` plays with this key."""
    task_keys, _, _ = _parts(_episode_keys(key, 0, num_episodes))
    return jax.vmap(lambda key: family.sample_task(key=key))(task_keys)


@jit_program
def _rollout_chunk(explorer, family, operating_point, key, first, size, keep_posterior):
    keys = _episode_keys(key, first, size)
    transcript = rollout(explorer, family, operating_point, keys=keys)
    if keep_posterior:
        return transcript
    return eqx.tree_at(
        lambda t: t.ending.log_posterior, transcript, None, is_leaf=lambda x: x is None
    )


def rollout_chunks(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
    num_episodes: int,
    *,
    key: PRNGKey,
    keep_posterior: bool = False,
    chunk_size: int | None = None,
    start: int = 0,
) -> Iterator[Transcript]:
    """Runs any number of episodes, one compiled chunk at a time.

    Episode i has key `fold_in(key, i)`, whatever the chunk size; the first one is
    episode `start`. The transcripts are numpy arrays; the last chunk is cut to the
    number of episodes asked for.
    """
    check_num_episodes("num_episodes", num_episodes)
    family = family.with_data()
    size = chunk_size or default_chunk_size(explorer, family, operating_point)
    size = min(size, num_episodes)
    given = (explorer, family, operating_point, jr.key_data(key))
    work = ft.partial(_played, given, size, keep_posterior)
    firsts = range(0, num_episodes, size)
    engine = chosen_engine() or LocalEngine()
    for number, chunk in enumerate(in_order(engine, work, [start + i for i in firsts])):
        kept = min(size, num_episodes - firsts[number])
        yield jax.tree.map(lambda leaf, kept=kept: leaf[:kept], chunk)


def _played(given: tuple, size: int, keep_posterior: bool, first: int) -> Transcript:
    """One chunk as numpy arrays; it may be played on another machine."""
    explorer, family, operating_point, key_data = given
    key = jr.wrap_key_data(key_data)
    chunk = _rollout_chunk(
        explorer,
        family,
        operating_point,
        key,
        jnp.asarray(first, jnp.int32),
        size,
        keep_posterior,
    )
    return jax.tree.map(np.asarray, chunk)


def run_episodes(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
    num_episodes: int,
    *,
    key: PRNGKey,
    keep_posterior: bool = False,
    chunk_size: int | None = None,
) -> Ending:
    """The endings alone of any number of episodes, as numpy arrays."""
    chunks = rollout_chunks(
        explorer,
        family,
        operating_point,
        num_episodes,
        key=key,
        keep_posterior=keep_posterior,
        chunk_size=chunk_size,
    )
    endings = [chunk.ending for chunk in chunks]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *endings)


@jit_program
def _case_chunk(explorer, family, operating_point, cases, key) -> Ending:
    keys = jr.split(key, jax.tree.leaves(cases)[0].shape[0])
    played = rollout(explorer, family, operating_point, keys=keys, tasks=cases)
    return eqx.tree_at(
        lambda it: it.log_posterior, played.ending, None, is_leaf=lambda x: x is None
    )


def run_cases(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
    cases: PyTree,
    *,
    key: PRNGKey,
) -> Ending:
    """The endings of episodes on given tasks, each played once, in their order."""
    number = num_cases(cases)
    size = default_chunk_size(explorer, family, operating_point)
    size = min(size, 1 << max(0, number - 1).bit_length())
    endings = []
    for first in range(0, number, size):
        rows = np.minimum(first + np.arange(size), number - 1)
        chunk, chunk_key = some_cases(cases, rows), jr.fold_in(key, first)
        ending = _case_chunk(explorer, family, operating_point, chunk, chunk_key)
        kept = min(size, number - first)
        endings.append(jax.tree.map(lambda it, n=kept: np.asarray(it)[:n], ending))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *endings)


def some_cases(cases: PyTree, rows: Int[np.ndarray, "some"]) -> PyTree:
    """Those of these numbers."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[rows], cases)


def spread_cases(cases: PyTree, number: int) -> PyTree:
    """At most so many, evenly spread: their order may be that of their classes."""
    of = num_cases(cases)
    number = min(number, of)
    return some_cases(cases, np.arange(number) * of // number)


def num_cases(cases: PyTree) -> int:
    """How many tasks there are along the leading axis."""
    return jax.tree.leaves(cases)[0].shape[0]


def default_chunk_size(
    explorer: AbstractExplorer,
    family: AbstractTaskFamily,
    operating_point: OperatingPoint,
) -> int:
    """The largest power of two whose working memory fits comfortably."""
    spec = family.spec
    outcome = jax.ShapeDtypeStruct((spec.outcome_size,), jnp.float32)
    state = eqx.filter_eval_shape(explorer.init, spec, operating_point, outcome)
    record = 4 * spec.horizon * (spec.outcome_size + 2)
    bytes_each = record + sum(
        math.prod(leaf.shape) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(state)
        if isinstance(leaf, jax.ShapeDtypeStruct)
    )
    if spec.query_grid:
        bytes_each += 4 * _NUMBERS_PER_PIXEL * spec.num_queries * spec.outcome_size
    memory = 2**28 if jax.default_backend() == "cpu" else 2**33
    return 2 ** max(6, min(14, int(math.log2(memory / bytes_each))))
