"""How the state of a training lies on devices, and the program that runs on them.

All of it is everywhere, but for the replay, of which each device has its own part. The
devices may belong to several processes, on several machines.
"""

import dataclasses
import functools as ft
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from icpe.core import distributed
from icpe.core.arrays import PyTree
from icpe.core.errors import InvalidParameterError
from icpe.core.programs import jit_program
from icpe.learn.crew import AXIS
from icpe.learn.learners import AnyConfig, AnyLearner, AnyMetrics, AnyState
from icpe.learn.paper.learner import PaperLearner
from icpe.learn.side_by_side import SideBySide
from icpe.learn.spread_replay import SpreadReplay

Tree = TypeVar("Tree")


def device_mesh(config: AnyConfig, devices: Sequence[Any] | None = None) -> Mesh:
    """Devices in a row, over which episodes are spread: all there are, by default.

    Raises:
        InvalidParameterError: a batch cannot be divided by their number.
    """
    row = np.asarray(jax.devices() if devices is None else devices)
    for name in ("batch_size", "minibatch_size"):
        if getattr(config, name) % len(row):
            raise InvalidParameterError(
                f"{name} must be a multiple of the number of devices {len(row)}; "
                f"got {getattr(config, name)}."
            )
    return Mesh(row, (AXIS,))


def placed(learner: AnyLearner, state: AnyState) -> AnyState:
    """The state of a checkpoint, or a fresh one, where every chunk leaves it."""
    mesh = _mesh(learner)
    if _is_spread(learner):
        rows = SpreadReplay.of(
            state.replay,  # pyright: ignore[reportArgumentType]
            learner.config.batch_size,
            learner.crew,  # pyright: ignore[reportAttributeAccessIssue]
            _ring_axis(learner),
        )
        state = dataclasses.replace(state, replay=rows)
    arrays, static = eqx.partition(state, eqx.is_array)
    specs = _specs(learner, arrays)

    def lay(leaf, spec: PartitionSpec):
        return _put(leaf, NamedSharding(mesh, spec))

    return eqx.combine(jax.tree.map(lay, arrays, specs), static)


def replicated(learner: AnyLearner, tree: Tree) -> Tree:
    """All arrays of a tree on every device."""
    sharding = NamedSharding(_mesh(learner), PartitionSpec())
    return jax.tree.map(lambda leaf: _put(leaf, sharding), tree)


def gathered(learner: AnyLearner, state: AnyState) -> AnyState:
    """The state with the whole replay on the host, as checkpoints keep it.

    All processes take part. One array of the replay at a time is on every device.
    """
    if not _is_spread(learner):
        return state
    everywhere = NamedSharding(_mesh(learner), PartitionSpec())
    gather = jax.jit(lambda leaf: leaf, out_shardings=everywhere)
    assert isinstance(state.replay, SpreadReplay)
    episodes = jax.tree.map(
        lambda leaf: np.asarray(gather(leaf)), state.replay.episodes
    )
    whole = SpreadReplay(episodes, state.replay.added, state.replay.crew)
    return dataclasses.replace(state, replay=whole.as_ring(_ring_axis(learner)))


def here(tree: Tree) -> Tree:
    """Arrays that are everywhere, as arrays of this process alone."""
    if distributed.count() == 1:
        return tree
    return jax.tree.map(
        lambda leaf: leaf.addressable_data(0) if eqx.is_array(leaf) else leaf, tree
    )


def with_array(learner: AnyLearner, state: Tree, name: str, value: Any) -> Tree:
    """Of the same dtype and placement, so that no program is compiled again."""
    old = getattr(state, name)
    sharding = NamedSharding(_mesh(learner), PartitionSpec())
    new = _put(np.asarray(value, old.dtype), sharding)
    return dataclasses.replace(state, **{name: new})  # pyright: ignore


def first_made(make: Callable[..., AnyState], **given: Any) -> AnyState:
    """A state, of which processes that are not the first need the shapes alone."""
    if distributed.is_first():
        return jit_program(make)(**given)
    return eqx.filter_eval_shape(make, **given)


def from_first(state: AnyState) -> AnyState:
    """The state of the first process, on all."""
    if distributed.count() == 1:
        return state
    first = distributed.is_first()
    arrays, static = eqx.partition(state, _is_array_or_shape)
    leaves, structure = jax.tree.flatten(arrays)
    keys = [jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
    own = [np.asarray(_plain(leaf)) for leaf in leaves] if first else None
    found = [
        jr.wrap_key_data(jnp.asarray(leaf)) if is_key else jnp.asarray(leaf)
        for leaf, is_key in zip(distributed.share(own), keys, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, found), static)


def _is_array_or_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def run_chunk(
    learner: AnyLearner, state: AnyState, size: int
) -> tuple[AnyState, AnyMetrics]:
    """`size` iterations, of one program for all sizes; metrics are averaged over them.

    Donates `state`.
    """
    return _run_chunk(learner, state, jnp.asarray(size, jnp.int32))


@ft.partial(jit_program, donate="all-except-first", runs_long=True)
def _run_chunk(learner, state, size) -> tuple[AnyState, AnyMetrics]:
    arrays, static = eqx.partition(state, eqx.is_array)
    own, rest = eqx.partition(learner, eqx.is_array)

    def run(own: PyTree, arrays: PyTree, size) -> tuple[PyTree, PyTree]:
        return _iterate(eqx.combine(own, rest), arrays, static, size)

    mesh = _mesh(learner)
    if _is_spread(learner):
        specs = _specs(learner, arrays)
        run = jax.shard_map(
            run,
            mesh=mesh,
            in_specs=(PartitionSpec(), specs, PartitionSpec()),
            out_specs=(specs, PartitionSpec()),
            check_vma=False,
        )
        arrays, metrics = run(own, arrays, size)
    else:
        arrays, metrics = run(own, arrays, size)
        everywhere = NamedSharding(mesh, PartitionSpec())
        arrays = lax.with_sharding_constraint(arrays, everywhere)
    return eqx.combine(arrays, static), metrics


def _iterate(learner, arrays: PyTree, static: PyTree, size) -> tuple[PyTree, Any]:
    """So many iterations, and the mean of their metrics."""

    def accumulate(_, carry):
        arrays, total = carry
        state, metrics = learner.step(eqx.combine(arrays, static))
        arrays = eqx.filter(state, eqx.is_array)
        return arrays, jax.tree.map(jnp.add, total, metrics)

    fields = dataclasses.fields(learner.metrics_type)
    nothing = learner.metrics_type(*(jnp.zeros(()) for _ in fields))
    arrays, total = lax.fori_loop(0, size, accumulate, (arrays, nothing))
    return arrays, jax.tree.map(lambda sum: sum / size, total)


def _mesh(learner: AnyLearner) -> Mesh:
    assert learner.mesh is not None
    return learner.mesh


def _is_spread(learner: AnyLearner) -> bool:
    """Whether each device has its own part of the replay.

    The paper's learner leaves the division of its work to the compiler.
    """
    return _mesh(learner).size > 1 and not isinstance(learner, PaperLearner)


def _ring_axis(learner: AnyLearner) -> int:
    """The axis of the replay along which episodes are kept, after that of seeds."""
    return 1 if isinstance(learner, SideBySide) else 0


def _specs(learner: AnyLearner, arrays: PyTree) -> PyTree:
    """Which axis of each array of a state is spread."""
    specs = jax.tree.map(lambda _: PartitionSpec(), arrays)
    if not _is_spread(learner):
        return specs
    columns = PartitionSpec(*(None,) * (_ring_axis(learner) + 1), AXIS)
    episodes = jax.tree.map(lambda _: columns, arrays.replay.episodes)
    return eqx.tree_at(lambda it: it.replay.episodes, specs, episodes)


def _plain(leaf: Any) -> Any:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jr.key_data(leaf) if is_key else leaf


def _put(leaf: Any, sharding: NamedSharding) -> Any:
    """An array with the same value on every process, laid out over all of them."""
    if not (eqx.is_array(leaf) or isinstance(leaf, np.ndarray)):
        return leaf
    if sharding.is_fully_addressable:
        return jax.device_put(leaf, sharding)
    plain = np.asarray(_plain(leaf))
    found = jax.make_array_from_callback(plain.shape, sharding, lambda at: plain[at])
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jr.wrap_key_data(found) if is_key else found
