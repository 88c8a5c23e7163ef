"""A short name for the law of a family, so that a changed family is noticed."""

import dataclasses
import functools as ft
import hashlib
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

from icpe.core.family import AbstractTaskFamily

_NUM_EPISODES = 4
_NUM_STEPS = 8
_RESOLUTION = 0.01
_PICTURE_RESOLUTION = 1.0
_OFFSET = 0.381966
"""Outcomes are rounded to this fraction of their scale before hashing, so that the
last bits, which differ between devices and compilers, do not matter. The offset keeps
round numbers away from the borders between two roundings. Pictures have many entries,
each computed in many operations, so they are rounded more."""


def fingerprint(family: AbstractTaskFamily) -> str:
    """Hash of the spec and of a few episodes with fixed keys.

    Two families with one fingerprint have the same numbers of queries, hypotheses and
    steps, the same scaling and costs, and gave the same tasks, outcomes and masks.
    Names for people and hints for networks do not enter.
    """
    spec = family.spec
    shape = (_NUM_EPISODES, min(_NUM_STEPS, spec.horizon))
    # The legacy generator of numpy is frozen, so these scores never change.
    scores = np.random.RandomState(0).random_sample((*shape, spec.num_queries))
    with jax.default_device(jax.devices("cpu")[0]):
        keys = jr.split(jr.key(0), (shape[0], shape[1] + 2))
        # The program runs once, so it is not worth optimizing.
        episodes = jax.jit(
            ft.partial(_episodes, family),
            compiler_options={"xla_backend_optimization_level": 0},
        )(keys, jnp.asarray(scores, jnp.float32))
    digest = hashlib.sha256(json.dumps(_numbers(family), sort_keys=True).encode())
    for leaf in jax.tree.leaves(episodes):
        digest.update(np.ascontiguousarray(leaf, np.int64).tobytes())
    return digest.hexdigest()[:16]


def _numbers(family: AbstractTaskFamily) -> dict:
    fields = dataclasses.asdict(family.spec)
    words = ("query_names", "hypothesis_names", "outcome_names", "outcome_labels")
    hints = (*words, "question", "outcome_flags", "queries_alike")
    numbers = {k: v for k, v in fields.items() if k not in hints}
    # Fields that are younger than the first fingerprints enter where they are set.
    unset = [k for k in ("outcome_shape", "query_grid") if not numbers[k]]
    return {k: v for k, v in numbers.items() if k not in unset}


def _episodes(family: AbstractTaskFamily, keys, scores):
    """One after the other, which compiles much faster than side by side."""
    return lax.map(lambda given: _episode(family, *given), (keys, scores))


def _episode(family: AbstractTaskFamily, keys, scores):
    """One episode of the allowed queries with the best scores, as integers."""
    task = family.sample_task(key=keys[0])
    first = family.reset(task, key=keys[1])

    resolution = _PICTURE_RESOLUTION if family.spec.outcome_shape else _RESOLUTION

    def visible(result):
        scaled = family.spec.normalize(result.outcome) / resolution
        rounded = jnp.round(scaled + _OFFSET)
        bounded = jnp.clip(rounded, -1e6, 1e6).astype(jnp.int32)
        return bounded, result.query_mask, result.terminated

    def step(result, given):
        key, scores = given
        query = jnp.argmax(jnp.where(result.query_mask, scores, -1.0))
        result = family.step(result.state, query, task, key=key)
        return result, visible(result)

    _, steps = lax.scan(step, first, (keys[2:], scores))
    return family.hypothesis(task), visible(first), steps
