"""A batch of episodes in lock step: one step of all of them at a time.

Most episodes are much shorter than the longest, which all would have to wait for.
On a CPU those that still run are therefore gathered every few steps, and played block
by block; on an accelerator one large batch is faster.
"""

import dataclasses
import functools as ft
import itertools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key

from icpe.core.arrays import Index, PyTree
from icpe.core.episode import (
    STOP,
    StopReason,
    allowed_queries,
    none_asked,
    why_ended,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, StepResult
from icpe.core.memory import Growing, Scratch, StepCount
from icpe.core.request import OperatingPoint

_LONG = 48
"""Episodes this long are cut into stretches; more stretches take longer to compile."""
_STRIDE = 2
"""Steps between two gatherings. Each copies the memory of all that still run."""
_BLOCKS = 16
"""Into which a whole batch is divided; the last one is seldom full."""
_SMALLEST_BLOCK = 128
"""The steps of smaller ones take longer to start than to compute."""

Segments = list[tuple[int, int]]


class EpisodeInputs(eqx.Module):
    """What stays the same throughout each episode."""

    tasks: PyTree
    world_keys: Key[Array, "episodes"]
    own_keys: Key[Array, "episodes"]
    caps: Int[Array, "episodes"]
    is_budget: Bool[Array, "episodes"]


class Carry(eqx.Module):
    """What one step hands to the next."""

    step: Int[Array, ""]
    world: StepResult
    explorer: PyTree
    stop_reason: Int[Array, "episodes"]
    queries: Int[Array, "episodes steps"]
    outcomes: Float[Array, "episodes steps+1 outcome"]
    query_masks: Bool[Array, "episodes steps+1 queries"] | None
    asked: Bool[Array, "episodes queries"] | None
    cost: Float[Array, "episodes"]

    @property
    def running(self) -> Bool[Array, "episodes"]:
        """Which episodes have not ended."""
        return self.stop_reason == StopReason.RUNNING


class LockStep:
    """An explorer and a family, mapped over episodes with step counters left out."""

    def __init__(
        self,
        explorer: AbstractExplorer,
        family: AbstractTaskFamily,
        operating_point: OperatingPoint,
    ):
        spec = family.spec
        self.family = family
        one_point = jax.tree.map(
            lambda leaf: leaf[0] if leaf.ndim else leaf, operating_point
        )
        outcome = jax.ShapeDtypeStruct((spec.outcome_size,), jnp.float32)
        shapes = eqx.filter_eval_shape(explorer.init, spec, one_point, outcome)
        axes = jax.tree.map(
            lambda leaf: None if _is_step_count(leaf) else 0,
            shapes,
            is_leaf=_is_step_count,
        )
        self.init = jax.vmap(
            lambda point, outcome: explorer.init(spec, point, outcome),
            in_axes=(0 if operating_point.price.ndim else None, 0),
            out_axes=axes,
        )
        self.ask = jax.vmap(
            lambda state, mask, key: explorer.ask(state, mask, key=key),
            in_axes=(axes, 0, 0),
        )
        self.tell = jax.vmap(explorer.tell, in_axes=(axes, 0, 0), out_axes=axes)
        self.recommend = jax.vmap(explorer.recommend, in_axes=(axes,))
        self.log_posterior = jax.vmap(explorer.log_posterior, in_axes=(axes,))

    def begin(
        self, operating_point: OperatingPoint, world: StepResult, num_episodes: int
    ) -> Carry:
        """All episodes before their first query."""
        spec = self.family.spec
        capacity = (num_episodes, spec.horizon + 1)
        outcomes = jnp.zeros((*capacity, spec.outcome_size)).at[:, 0].set(world.outcome)
        masks = None
        if spec.masks_queries:
            masks = jnp.ones((*capacity, spec.num_queries), bool)
            masks = masks.at[:, 0].set(world.query_mask)
        return Carry(
            step=jnp.zeros((), jnp.int32),
            world=world,
            explorer=self.init(operating_point, world.outcome),
            stop_reason=jnp.where(
                world.terminated, StopReason.TERMINATED, StopReason.RUNNING
            ).astype(jnp.int32),
            queries=jnp.full((num_episodes, spec.horizon), STOP, jnp.int32),
            outcomes=outcomes,
            query_masks=masks,
            asked=none_asked(spec, num_episodes),
            cost=jnp.zeros(num_episodes),
        )

    def play_all(
        self, given: EpisodeInputs, carry: Carry, *, full_length: bool
    ) -> Carry:
        """Plays every episode to its end."""
        num_episodes, horizon = carry.queries.shape
        size = max(_SMALLEST_BLOCK, -(-num_episodes // _BLOCKS))
        gathers = jax.default_backend() == "cpu" and size < num_episodes
        for start, stop in _segments(horizon):
            carry = _with_bound(carry, stop)
            if full_length:
                carry = lax.fori_loop(
                    start, stop, lambda _, carry: self._advance(given, carry), carry
                )
            elif gathers and horizon > _STRIDE:
                carry = self._play_gathered(given, carry, stop, size)
            else:
                carry = lax.while_loop(
                    ft.partial(_goes_on, stop=stop),
                    lambda carry: self._advance(given, carry),
                    carry,
                )
        return carry

    def _play_gathered(
        self, given: EpisodeInputs, carry: Carry, stop: int, size: int
    ) -> Carry:
        """Plays up to a step, every few steps only the episodes that still run.

        Those that stop now are known before anything is computed for them. None may
        come up twice: that would wipe out what it did in these steps. So the last block
        is filled up with copies of one episode that nobody keeps.
        """
        num_episodes = carry.running.shape[0]
        nobody = jnp.full((size,), num_episodes)

        def stretch(carry: Carry) -> Carry:
            carry = dataclasses.replace(carry, stop_reason=self._ask(given, carry)[1])
            end = jnp.minimum(carry.step + _STRIDE, stop)
            running_first = jnp.argsort(~carry.running, stable=True)
            running_first = jnp.concatenate([running_first, nobody])
            num_running = jnp.sum(carry.running)

            def play(progress):
                done, carry, _ = progress
                which = lax.dynamic_slice(running_first, (done,), (size,))
                taken = jnp.minimum(which, num_episodes - 1)
                own = jax.tree.map(lambda leaf: leaf[taken], given)
                part = lax.fori_loop(
                    carry.step,
                    end,
                    lambda _, part: self._advance(own, part),
                    _take(carry, taken),
                )
                return done + size, _put(carry, which, part), _step_counts(part)

            start = jnp.zeros((), jnp.int32)
            _, carry, counts = lax.while_loop(
                lambda progress: progress[0] < num_running,
                play,
                (start, carry, _step_counts(carry)),
            )
            return dataclasses.replace(_with_step_counts(carry, counts), step=end)

        return lax.while_loop(ft.partial(_goes_on, stop=stop), stretch, carry)

    def _advance(self, given: EpisodeInputs, carry: Carry) -> Carry:
        """One step of all episodes; those that have ended stay as they are."""
        t, family = carry.step, self.family
        query, reason = self._ask(given, carry)
        made = reason == StopReason.RUNNING
        query = jnp.clip(query, 0, family.spec.num_queries - 1)
        world = jax.vmap(
            lambda state, query, task, key: family.step(state, query, task, key=key)
        )(carry.world.state, query, given.tasks, _fold_each(given.world_keys, t + 1))
        told = self.tell(carry.explorer, query, world.outcome)
        after = self._why_ended(given, t + 1, terminated=world.terminated)
        asked = carry.asked
        if asked is not None:
            now = jnp.arange(family.spec.num_queries)[None] == query[:, None]
            asked = asked | (now & made[:, None])
        return Carry(
            step=t + 1,
            world=world,
            explorer=_keep_ended(made, told, carry.explorer),
            stop_reason=jnp.where(made, after, reason),
            queries=carry.queries.at[:, t].set(jnp.where(made, query, STOP)),
            outcomes=carry.outcomes.at[:, t + 1].set(
                jnp.where(made[:, None], world.outcome, 0.0)
            ),
            query_masks=None
            if carry.query_masks is None
            else carry.query_masks.at[:, t + 1].set(world.query_mask | ~made[:, None]),
            asked=asked,
            cost=carry.cost + jnp.where(made, family.spec.cost_array[query], 0.0),
        )

    def _ask(
        self, given: EpisodeInputs, carry: Carry
    ) -> tuple[Int[Array, "episodes"], Int[Array, "episodes"]]:
        """What is asked next, and why episodes end without it."""
        mask = allowed_queries(carry.world.query_mask, carry.asked)
        query = self.ask(carry.explorer, mask, _fold_each(given.own_keys, carry.step))
        reason = self._why_ended(
            given, carry.step, can_ask=jnp.any(mask, axis=1), stops=query == STOP
        )
        return query, jnp.where(carry.running, reason, carry.stop_reason)

    def _why_ended(
        self,
        given: EpisodeInputs,
        num_queries: Int[Array, ""],
        *,
        terminated: Bool[Array, "episodes"] | None = None,
        can_ask: Bool[Array, "episodes"] | None = None,
        stops: Bool[Array, "episodes"] | None = None,
    ) -> Int[Array, "episodes"]:
        """The rules of an episode, as far as is known at the time."""
        no = jnp.zeros_like(given.is_budget)
        return why_ended(
            terminated=no if terminated is None else terminated,
            num_queries=jnp.broadcast_to(num_queries, given.caps.shape),
            cap=given.caps,
            is_budget=given.is_budget,
            can_ask=~no if can_ask is None else can_ask,
            stops=no if stops is None else stops,
        )


def _segments(horizon: int) -> Segments:
    """Cuts long episodes into stretches of steps, each a loop of its own.

    In each of them a tighter bound of the step count is known, so that early steps
    need not read the empty end of a cache.
    """
    cuts = [0, horizon]
    if horizon >= _LONG:
        cuts = [0, round(horizon / 3), horizon]
    return list(itertools.pairwise(cuts))


def _goes_on(carry: Carry, stop: int) -> Bool[Array, ""]:
    """Whether any episode runs before a step."""
    return (carry.step < stop) & jnp.any(carry.running)


def _with_bound(carry: Carry, bound: int) -> Carry:
    """With a bound in the explorer's step counters, and memory for as many steps."""

    def bounded(node):
        if isinstance(node, StepCount):
            return StepCount(node.value, bound)
        return node.resized(bound + 1) if isinstance(node, Growing) else node

    return _map_explorer(bounded, carry, StepCount | Growing)


def _step_counts(carry: Carry) -> list[Index]:
    """The values of the explorer's step counters."""
    nodes = jax.tree.leaves(carry.explorer, is_leaf=_is_step_count)
    return [node.value for node in nodes if _is_step_count(node)]


def _with_step_counts(carry: Carry, values: list[Index]) -> Carry:
    """With these values in the explorer's step counters."""
    left = iter(values)

    def counted(node):
        return StepCount(next(left), node.bound) if _is_step_count(node) else node

    return _map_explorer(counted, carry, StepCount)


def _map_explorer(change: Callable, carry: Carry, whole: Any) -> Carry:
    """The explorer's state changed, nodes of some types as wholes."""
    state = jax.tree.map(
        change, carry.explorer, is_leaf=lambda node: isinstance(node, whole)
    )
    return dataclasses.replace(carry, explorer=state)


def _take(carry: Carry, which: Int[Array, "part"]) -> Carry:
    """Some of the episodes."""
    world, *record = jax.tree.map(lambda leaf: leaf[which], _world_and_record(carry))
    state = jax.tree.map(
        lambda node: node if _is_step_count(node) else node[which],
        carry.explorer,
        is_leaf=_is_step_count,
    )
    return Carry(carry.step, world, state, *record)


def _put(carry: Carry, which: Int[Array, "part"], part: Carry) -> Carry:
    """All episodes, with those of the part as they are now.

    Step counters are left as they are: other parts begin where this one began.
    """

    def put(old, new):
        if _is_step_count(old):
            return old
        return old.at[which].set(new, mode="drop")

    world, *record = jax.tree.map(
        put, _world_and_record(carry), _world_and_record(part)
    )
    state = jax.tree.map(put, carry.explorer, part.explorer, is_leaf=_is_step_count)
    return Carry(carry.step, world, state, *record)


def _world_and_record(carry: Carry) -> tuple:
    """What has an axis of episodes in every leaf: all but step and explorer."""
    return (
        carry.world,
        carry.stop_reason,
        carry.queries,
        carry.outcomes,
        carry.query_masks,
        carry.asked,
        carry.cost,
    )


def _keep_ended(made: Bool[Array, "episodes"], new: PyTree, old: PyTree) -> PyTree:
    """The new state where a query was made, the old one elsewhere."""

    def keep(new, old):
        if _is_lasting(new):
            return new
        return jnp.where(made.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(keep, new, old, is_leaf=_is_lasting)


def _is_lasting(node) -> bool:
    """Whether a node is still updated after the end of its episode."""
    return isinstance(node, StepCount | Scratch)


def _is_step_count(node) -> bool:
    return isinstance(node, StepCount)


def _fold_each(keys: Key[Array, "episodes"], step) -> Key[Array, "episodes"]:
    return jax.vmap(jr.fold_in, in_axes=(0, None))(keys, step)
