"""A short name for the law of a family, so that a changed family is noticed."""

import dataclasses
import hashlib
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

from icpe.tasks.base import AbstractTaskFamily

_NUM_EPISODES = 4
_NUM_STEPS = 8
_RESOLUTION = 0.01
"""Outcomes are rounded to this fraction of their scale before hashing, so that the
last bits, which differ between devices and compilers, do not matter."""


def fingerprint(family: AbstractTaskFamily) -> str:
    """Hash of the spec and of a few episodes with fixed keys.

    Two families with one fingerprint have the same numbers of queries, hypotheses and
    steps, the same scaling and costs, and gave the same tasks, outcomes and masks.
    Names for people do not enter.
    """
    with jax.default_device(jax.devices("cpu")[0]):
        keys = jr.split(jr.key(0), _NUM_EPISODES)
        episodes = jax.jit(jax.vmap(lambda key: _episode(family, key)))(keys)
    digest = hashlib.sha256(json.dumps(_numbers(family), sort_keys=True).encode())
    for leaf in jax.tree.leaves(episodes):
        digest.update(np.ascontiguousarray(leaf, np.int64).tobytes())
    return digest.hexdigest()[:16]


def _numbers(family: AbstractTaskFamily) -> dict:
    fields = dataclasses.asdict(family.spec)
    words = ("query_names", "hypothesis_names", "outcome_names", "outcome_labels")
    return {k: v for k, v in fields.items() if k not in (*words, "question")}


def _episode(family: AbstractTaskFamily, key):
    """One episode of allowed random queries, as integers."""
    task_key, reset_key, key = jr.split(key, 3)
    task = family.sample_task(key=task_key)
    first = family.reset(task, key=reset_key)

    def visible(result):
        rounded = jnp.round(family.spec.normalize(result.outcome) / _RESOLUTION)
        bounded = jnp.clip(rounded, -1e6, 1e6).astype(jnp.int32)
        return bounded, result.query_mask, result.terminated

    def step(result, step_key):
        query_key, step_key = jr.split(step_key)
        score = jr.uniform(query_key, result.query_mask.shape)
        query = jnp.argmax(jnp.where(result.query_mask, score, -1.0))
        result = family.step(result.state, query, task, key=step_key)
        return result, visible(result)

    num_steps = min(_NUM_STEPS, family.spec.horizon)
    _, steps = lax.scan(step, first, jr.split(key, num_steps))
    return family.hypothesis(task), visible(first), steps
