"""Answers of very many tasks, added up on the device by hypothesis."""

import functools as ft
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import COMPILER_OPTIONS
from icpe.learn.answers import Answers
from icpe.learn.tally import Tally

_CHUNK = 2**22


def count_by_hypothesis(
    family: AbstractTaskFamily, few: Answers, draws: int, seed: int
) -> Tally:
    """Adds up answers on the device, a chunk of tasks at a time.

    Every hypothesis needs tasks of its own, so there are at least 32 for each, on
    average, however many queries that makes; at most four times as many as asked for
    where each is a call of Python.
    """
    spec = family.spec
    symbols, edges = few.symbols, few.edges
    width = spec.num_queries * (spec.outcome_size if symbols is None else len(symbols))
    least = 32 * spec.num_hypotheses
    if family.on_host:
        least = min(least, 4 * draws // spec.num_queries)
    tasks = max(draws // spec.num_queries, least, 1)
    chunk = int(np.clip(_CHUNK // width, 16, tasks))
    arrays, static = eqx.partition(family, eqx.is_array)
    sums = jax.device_get(
        _count(
            static,
            chunk,
            arrays,
            None if symbols is None else jnp.asarray(symbols, jnp.float32),
            None if edges is None else jnp.asarray(edges, jnp.float32),
            jnp.asarray(few.center),
            jr.key(seed),
            jnp.asarray(-(-tasks // chunk), jnp.int32),
        )
    )
    found: dict[str, Any] = {k: np.asarray(v, float) for k, v in sums.items()}
    return Tally(**found, center=few.center)


@ft.partial(jax.jit, static_argnums=(0, 1), compiler_options=COMPILER_OPTIONS)
def _count(
    static, chunk: int, arrays, symbols, edges, center, key: PRNGKey, num_chunks
):
    family: AbstractTaskFamily = eqx.combine(arrays, static)
    spec = family.spec
    queries = jnp.arange(spec.num_queries)

    def look(key: PRNGKey):
        task_key, reset_key, step_key = jr.split(key, 3)
        task = family.sample_task(key=task_key)
        first = family.reset(task, key=reset_key)
        keys = jr.split(step_key, spec.num_queries)
        answers = jax.vmap(
            lambda query, key: family.step(first.state, query, task, key=key).outcome
        )(queries, keys)
        return family.hypothesis(task), first.query_mask, answers

    def sums(key: PRNGKey):
        hypothesis, mask, outcomes = jax.vmap(look)(jr.split(key, chunk))
        allowed = mask.astype(jnp.float32)

        def add(values):
            return jax.ops.segment_sum(values, hypothesis, spec.num_hypotheses)

        found = {"sizes": add(jnp.ones(chunk)), "asked": jnp.sum(allowed, axis=0)}
        weight = allowed[..., None]
        outcomes = jnp.where(weight > 0, outcomes, center[None])
        around = outcomes - center[None]
        if symbols is not None:
            distance = jnp.square(outcomes[:, :, None] - symbols[None, None]).sum(-1)
            codes = jax.nn.one_hot(jnp.argmin(distance, axis=-1), symbols.shape[0])
            return found | {"symbol_counts": add(codes * weight)}
        if not spec.outcome_flags:
            found |= {
                "counts": add(allowed),
                "sums": add(weight * around),
                "squares": add(weight * jnp.square(around)),
            }
            if edges is None:
                return found
            shape = (spec.num_hypotheses, *edges.shape[:2], edges.shape[2] + 1)
            cells = jnp.sum(outcomes[..., None] > edges[None], axis=-1)
            numbers = jnp.arange(math.prod(shape[1:3]))
            rows = hypothesis[:, None] * len(numbers) + numbers[None]
            places = rows * shape[3] + cells.reshape(chunk, -1)
            weights = jnp.broadcast_to(weight, cells.shape).ravel()
            counts = jax.ops.segment_sum(weights, places.ravel(), math.prod(shape))
            return found | {"range_counts": counts.reshape(shape)}
        values, shown = jnp.split(around, 2, axis=-1)
        shown = shown * weight
        return found | {
            "counts": add(jnp.sum(shown, axis=1)),
            "sums": add(jnp.sum(shown * values, axis=1))[..., None],
            "squares": add(jnp.sum(shown * jnp.square(values), axis=1))[..., None],
            "revealed": jnp.sum(shown, axis=0),
        }

    zero = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(sums, key)
    )
    return jax.lax.fori_loop(
        0,
        num_chunks,
        lambda i, total: jax.tree.map(jnp.add, total, sums(jr.fold_in(key, i))),
        zero,
    )
