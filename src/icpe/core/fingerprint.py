"""A short name for the law of a family, so that a changed family is noticed."""

import functools as ft
import hashlib
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

from icpe.core.family import AbstractTaskFamily, StepResult, data_of
from icpe.core.spec import TaskSpec

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
    """Hash of the spec, the data and a few episodes with fixed keys.

    Two families with one fingerprint have the same numbers of queries, hypotheses and
    steps, the same scaling and costs, the same data, and gave the same tasks, outcomes
    and masks. Names for people and hints for networks do not enter.
    """
    spec = family.spec
    shape = (_NUM_EPISODES, min(_NUM_STEPS, spec.horizon))
    # The legacy generator of numpy is frozen, so these scores never change.
    scores = np.random.RandomState(0).random_sample((*shape, spec.num_queries))
    arrays, static = eqx.partition(family.with_data(), eqx.is_array)
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        keys = jr.split(jr.key(0), (shape[0], shape[1] + 2))
        scores = jnp.asarray(scores, jnp.float32)
        episodes = _episodes(static, _law_of(family), arrays, keys, scores)
    digest = hashlib.sha256(json.dumps(_numbers(spec), sort_keys=True).encode())
    for leaf in jax.tree.leaves(episodes):
        digest.update(np.ascontiguousarray(leaf, np.int64).tobytes())
    leaves, _ = jax.tree_util.tree_flatten_with_path(data_of(family))
    for path, array in leaves:
        digest.update(f"{path} {array.dtype} {array.shape} ".encode())
        digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()[:16]


def _numbers(spec: TaskSpec) -> dict:
    """What is hashed of a spec; fields younger than the first files where they are set.

    Queries that can be made once are masked, whoever does it.
    """
    pictures = {"outcome_shape": spec.outcome_shape, "query_grid": spec.query_grid}
    return {
        **spec.numbers(),
        "masks_queries": spec.restricts_queries,
        **{name: value for name, value in pictures.items() if value},
    }


def _law_of(family: AbstractTaskFamily) -> tuple[int, ...]:
    """Changes when a method of the law is replaced, so that it is compiled again."""
    methods = ("spec", "sample_task", "reset", "step", "hypothesis")
    return tuple(id(getattr(type(family), name)) for name in methods)


@ft.partial(
    jax.jit,
    static_argnums=(0, 1),
    # The program runs once, so it is not worth optimizing.
    compiler_options={"xla_backend_optimization_level": 0},
)
def _episodes(static, law, arrays, keys, scores):
    """One after the other, which compiles much faster than side by side."""
    family = eqx.combine(arrays, static)
    return lax.map(lambda given: _episode(family, *given), (keys, scores))


def _episode(family: AbstractTaskFamily, keys, scores):
    """One episode of the allowed queries with the best scores, as integers."""
    spec = family.spec
    task = family.sample_task(key=keys[0])
    first = family.reset(task, key=keys[1])
    resolution = _PICTURE_RESOLUTION if spec.outcome_shape else _RESOLUTION

    def visible(result: StepResult, asked):
        scaled = spec.normalize(result.outcome) / resolution
        rounded = jnp.round(scaled + _OFFSET)
        bounded = jnp.clip(rounded, -1e6, 1e6).astype(jnp.int32)
        return bounded, result.query_mask & ~asked, result.terminated

    def step(carry, given):
        result, asked = carry
        key, scores = given
        query = jnp.argmax(jnp.where(result.query_mask & ~asked, scores, -1.0))
        result = family.step(result.state, query, task, key=key)
        if spec.ask_once:
            asked = asked | (jnp.arange(spec.num_queries) == query)
        return (result, asked), visible(result, asked)

    none = jnp.zeros(spec.num_queries, bool)
    _, steps = lax.scan(step, (first, none), (keys[2:], scores))
    return family.hypothesis(task), visible(first, none), steps
