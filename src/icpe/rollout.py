"""Run any explorer on a batch of tasks as one compiled program."""

import dataclasses
import itertools
import math
from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key

from icpe.explorers.base import AbstractExplorer
from icpe.history import Growing, History, Scratch, StepCount
from icpe.tasks.base import AbstractTaskFamily, StepResult
from icpe.types import (
    STOP,
    OperatingPoint,
    PRNGKey,
    PyTree,
    Regime,
    StopReason,
    check_at_least,
)


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
    were allowed at step t, all True after the end; None for families that never mask.
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
    spec = family.spec
    num_episodes = keys.shape[0]
    task_keys, world_keys, own_keys = _parts(keys)
    if tasks is None:
        tasks = jax.vmap(lambda key: family.sample_task(key=key))(task_keys)
    world = jax.vmap(lambda task, key: family.reset(task, key=jr.fold_in(key, 0)))(
        tasks, world_keys
    )
    caps = jnp.broadcast_to(operating_point.max_queries, (num_episodes,))
    cap_reason = _reason_at_cap(operating_point, caps, spec.horizon)
    lock_step = _LockStep(explorer, family, operating_point, world.outcome)
    costs = spec.cost_array

    def advance(carry: _Carry) -> _Carry:
        t = carry.step
        mask = carry.world.query_mask
        query = lock_step.ask(carry.explorer, mask, _fold_each(own_keys, t))
        reason = jnp.where(query == STOP, StopReason.EXPLORER, StopReason.RUNNING)
        reason = jnp.where(jnp.any(mask, 1), reason, StopReason.NO_QUERY)
        was_running = carry.stop_reason == StopReason.RUNNING
        reason = jnp.where(was_running, reason, carry.stop_reason)

        made = reason == StopReason.RUNNING
        query = jnp.clip(query, 0, spec.num_queries - 1)
        world = jax.vmap(
            lambda state, query, task, key: family.step(state, query, task, key=key)
        )(carry.world.state, query, tasks, _fold_each(world_keys, t + 1))
        told = lock_step.tell(carry.explorer, query, world.outcome)
        reason = jnp.where(made & (t + 1 >= caps), cap_reason, reason)
        reason = jnp.where(made & world.terminated, StopReason.TERMINATED, reason)
        return _Carry(
            step=t + 1,
            world=world,
            explorer=_keep_ended(made, told, carry.explorer),
            stop_reason=reason,
            queries=carry.queries.at[:, t].set(jnp.where(made, query, STOP)),
            outcomes=carry.outcomes.at[:, t + 1].set(
                jnp.where(made[:, None], world.outcome, 0.0)
            ),
            query_masks=None
            if carry.query_masks is None
            else carry.query_masks.at[:, t + 1].set(world.query_mask | ~made[:, None]),
            cost=carry.cost + jnp.where(made, costs[query], 0.0),
        )

    carry = _Carry(
        step=jnp.zeros((), jnp.int32),
        world=world,
        explorer=lock_step.init(operating_point, world.outcome),
        stop_reason=jnp.where(
            world.terminated, StopReason.TERMINATED, StopReason.RUNNING
        ).astype(jnp.int32),
        queries=jnp.full((num_episodes, spec.horizon), STOP, jnp.int32),
        outcomes=jnp.zeros((num_episodes, spec.horizon + 1, spec.outcome_size))
        .at[:, 0]
        .set(world.outcome),
        query_masks=jnp.ones((num_episodes, spec.horizon + 1, spec.num_queries), bool)
        .at[:, 0]
        .set(world.query_mask)
        if spec.masks_queries
        else None,
        cost=jnp.zeros(num_episodes),
    )
    for start, stop in _segments(spec.horizon):
        carry = dataclasses.replace(carry, explorer=_with_bound(carry.explorer, stop))
        if full_length:
            carry = lax.fori_loop(start, stop, lambda _, carry: advance(carry), carry)
        else:
            carry = lax.while_loop(
                lambda carry, stop=stop: (carry.step < stop) & _any_running(carry),
                advance,
                carry,
            )
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


class _Carry(eqx.Module):
    """What one step hands to the next."""

    step: Int[Array, ""]
    world: StepResult
    explorer: PyTree
    stop_reason: Int[Array, "episodes"]
    queries: Int[Array, "episodes steps"]
    outcomes: Float[Array, "episodes steps+1 outcome"]
    query_masks: Bool[Array, "episodes steps+1 queries"] | None
    cost: Float[Array, "episodes"]


class _LockStep:
    """The explorer's methods mapped over episodes, step counters left unmapped."""

    def __init__(self, explorer, family, operating_point, first_outcomes):
        spec = family.spec
        self.point_axes = 0 if operating_point.price.ndim else None
        one_point = jax.tree.map(
            lambda leaf: leaf[0] if leaf.ndim else leaf, operating_point
        )
        shapes = eqx.filter_eval_shape(
            explorer.init, spec, one_point, first_outcomes[0]
        )
        axes = jax.tree.map(
            lambda leaf: None if _is_step_count(leaf) else 0,
            shapes,
            is_leaf=_is_step_count,
        )
        self.init = jax.vmap(
            lambda point, outcome: explorer.init(spec, point, outcome),
            in_axes=(self.point_axes, 0),
            out_axes=axes,
        )
        self.ask = jax.vmap(
            lambda state, mask, key: explorer.ask(state, mask, key=key),
            in_axes=(axes, 0, 0),
        )
        self.tell = jax.vmap(explorer.tell, in_axes=(axes, 0, 0), out_axes=axes)
        self.recommend = jax.vmap(explorer.recommend, in_axes=(axes,))
        self.log_posterior = jax.vmap(explorer.log_posterior, in_axes=(axes,))


def _segments(horizon: int) -> list[tuple[int, int]]:
    """Cuts long episodes into stretches of steps, each a loop of its own.

    In each of them a tighter bound of the step count is known, so that early steps
    need not read the empty end of a cache.
    """
    num_segments = max(1, min(4, horizon // 16))
    cuts = [round(horizon * i / num_segments) for i in range(num_segments + 1)]
    return list(itertools.pairwise(cuts))


def _with_bound(state: PyTree, bound: int) -> PyTree:
    """The state with a bound in its step counters, and memory for as many steps."""

    def bounded(node):
        if isinstance(node, StepCount):
            return StepCount(node.value, bound)
        return node.resized(bound + 1) if isinstance(node, Growing) else node

    return jax.tree.map(
        bounded, state, is_leaf=lambda node: isinstance(node, StepCount | Growing)
    )


def _any_running(carry: _Carry) -> Bool[Array, ""]:
    return jnp.any(carry.stop_reason == StopReason.RUNNING)


def _is_step_count(node) -> bool:
    return isinstance(node, StepCount)


def _keep_ended(made: Bool[Array, "episodes"], new: PyTree, old: PyTree) -> PyTree:
    """The new state where a query was made, the old one elsewhere."""

    def keep(new, old):
        if isinstance(new, StepCount | Scratch):
            return new
        return jnp.where(made.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(
        keep, new, old, is_leaf=lambda node: isinstance(node, StepCount | Scratch)
    )


def _fold_each(keys: Key[Array, "episodes"], step) -> Key[Array, "episodes"]:
    return jax.vmap(jr.fold_in, in_axes=(0, None))(keys, step)


def _reason_at_cap(
    operating_point: OperatingPoint, caps: Int[Array, "episodes"], horizon: int
) -> Int[Array, "episodes"]:
    """A budget that was asked for is used up; the horizon forces an answer."""
    fixed = operating_point.regime is Regime.BUDGET
    if operating_point.regime is Regime.MIXED:
        fixed = operating_point.price == 0
    return jnp.where((caps < horizon) | fixed, StopReason.BUDGET, StopReason.HORIZON)


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


@eqx.filter_jit
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
) -> Iterator[Transcript]:
    """Runs any number of episodes, one compiled chunk at a time.

    Episode i has key `fold_in(key, i)`, whatever the chunk size. The transcripts are
    numpy arrays; the last chunk is cut to the number of episodes asked for.
    """
    check_at_least("num_episodes", num_episodes, 1)
    size = chunk_size or default_chunk_size(explorer, family, operating_point)
    size = min(size, num_episodes)
    for first in range(0, num_episodes, size):
        chunk = _rollout_chunk(
            explorer,
            family,
            operating_point,
            key,
            jnp.asarray(first, jnp.int32),
            size,
            keep_posterior,
        )
        kept = min(size, num_episodes - first)
        yield jax.tree.map(lambda leaf, kept=kept: np.asarray(leaf)[:kept], chunk)


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
    memory = 2**28 if jax.default_backend() == "cpu" else 2**33
    return 2 ** max(6, min(14, int(math.log2(memory / bytes_each))))
