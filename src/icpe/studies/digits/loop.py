"""Compiled chunks of updates until they are done or the time is up."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import lax

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.errors import TrainingDivergedError
from icpe.core.progress import AbstractProgress, NoProgress

CHUNK = 100
"""Updates in one compiled chunk."""
_RISE = 200.0


class Trained(NamedTuple):
    """A network, the updates it had, and the seconds they took.

    `seconds` includes compilation; `losses` are means over chunks of updates.
    """

    net: PyTree
    updates: int
    seconds: float
    losses: tuple[float, ...]


def run_updates(
    update: Callable,
    state: PyTree,
    num_updates: int,
    *,
    key: PRNGKey,
    label: str,
    time_limit: float = math.inf,
    progress: AbstractProgress | None = None,
) -> tuple[PyTree, int, float, tuple[float, ...]]:
    """Calls `state, loss = update(state, step, done, key=key)` in compiled chunks.

    `done` is the fraction of the training that is over, by updates or by time,
    whichever is more, so that a schedule is complete when the time is up. The first
    chunk, which is compiled, does not count.

    Returns:
        The state, the updates made, the seconds they took, the mean loss of chunks.

    Raises:
        TrainingDivergedError: the loss became NaN or infinite.
    """
    progress = progress or NoProgress()
    start = time.monotonic()
    size = min(CHUNK, num_updates)

    @eqx.filter_jit(donate="all-except-first")
    def run_chunk(where, state):
        first, fraction, key = where
        arrays, static = eqx.partition(state, eqx.is_array)

        def body(arrays, step):
            state = eqx.combine(arrays, static)
            state, loss = update(state, step, fraction, key=jr.fold_in(key, step))
            return eqx.filter(state, eqx.is_array), loss

        arrays, losses = lax.scan(body, arrays, first + jnp.arange(size))
        return eqx.combine(arrays, static), jnp.mean(losses)

    made, fraction, history, compiled = 0, 0.0, [], 0.0
    progress.start(label, num_updates)
    try:
        while fraction < 1.0:
            where = jnp.asarray(made), jnp.asarray(fraction, jnp.float32), key
            state, loss = run_chunk(where, state)
            compiled = compiled or time.monotonic()
            made += size
            spent = time.monotonic() - compiled
            fraction = max(made / num_updates, spent / time_limit)
            history.append(float(loss))
            if not math.isfinite(history[-1]):
                raise TrainingDivergedError(
                    f"Training stopped: the loss became {history[-1]} before update "
                    f"{made}; try a smaller learning_rate."
                )
            progress.note(f"loss {history[-1]:.4f}")
            progress.advance(size)
    finally:
        progress.finish()
    return state, made, time.monotonic() - start, tuple(history)


def optimizer() -> optax.GradientTransformation:
    """Adam's direction of a clipped gradient; `descend` gives it a length."""
    return optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())


def descend(net: PyTree, direction: PyTree, peak: float, step, fraction) -> PyTree:
    """One step of a size that rises over the first updates and falls to 1 % of its
    peak by the cosine."""
    rise = jnp.minimum(1.0, (1.0 + step) / _RISE)
    fall = 0.505 + 0.495 * jnp.cos(jnp.pi * jnp.clip(fraction, 0.0, 1.0))
    return eqx.apply_updates(
        net, jax.tree.map(lambda d: -peak * rise * fall * d, direction)
    )
