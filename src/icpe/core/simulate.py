"""A look at a family by simulation: first answers to every query, on many tasks."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily

MOST_SYMBOLS = 64
"""Distinct outcomes up to which they are few."""


class FirstAnswers(eqx.Module):
    """What each query is answered at the start of an episode, on several tasks.

    `repeats` are independent answers to the same query on the same task.
    """

    hypothesis: Int[Array, "*tasks"]
    first_outcome: Float[Array, "*tasks outcome"]
    query_mask: Bool[Array, "*tasks queries"]
    outcomes: Float[Array, "*tasks repeats queries outcome"]


def first_answers(
    family: AbstractTaskFamily, num_tasks: int, *, repeats: int = 1, seed: int = 0
) -> FirstAnswers:
    """Draws tasks and puts every query to each of them, right after its reset."""
    arrays, static = eqx.partition(family.with_data(), eqx.is_array)
    return _first_answers(static, num_tasks, repeats, arrays, jr.key(seed))


@ft.partial(jax.jit, static_argnums=(0, 1, 2))
def _first_answers(static, num_tasks: int, repeats: int, arrays, key: PRNGKey):
    family: AbstractTaskFamily = eqx.combine(arrays, static)
    num_queries = family.spec.num_queries

    def look(key: PRNGKey) -> FirstAnswers:
        task_key, reset_key, step_key = jr.split(key, 3)
        task = family.sample_task(key=task_key)
        first = family.reset(task, key=reset_key)
        keys = jr.split(step_key, (repeats, num_queries))

        def answer(query, key):
            return family.step(first.state, query, task, key=key).outcome

        queries = jnp.arange(num_queries)
        answers = jax.vmap(jax.vmap(answer), in_axes=(None, 0))(queries, keys)
        return FirstAnswers(
            family.hypothesis(task), first.outcome, first.query_mask, answers
        )

    return jax.vmap(look)(jr.split(key, num_tasks))


def reveals_something(family: AbstractTaskFamily) -> bool:
    """Whether the first outcome ever tells anything, as said or else as seen."""
    if family.spec.reveals is not None:
        return family.spec.reveals
    arrays, static = eqx.partition(family.with_data(), eqx.is_array)
    return bool(_any_first_outcome(static, arrays, jr.key(0)))


@ft.partial(jax.jit, static_argnums=0)
def _any_first_outcome(static, arrays, key: PRNGKey):
    family: AbstractTaskFamily = eqx.combine(arrays, static)

    def first_outcome(key: PRNGKey):
        task_key, reset_key = jr.split(key)
        task = family.sample_task(key=task_key)
        return family.reset(task, key=reset_key).outcome

    return jnp.any(jax.vmap(first_outcome)(jr.split(key, 64)) != 0)


def distinct_outcomes(
    outcomes: Float[np.ndarray, "... outcome"],
) -> Float[np.ndarray, "symbols outcome"] | None:
    """The distinct outcomes, None if they are many."""
    flat = outcomes.reshape(-1, outcomes.shape[-1])
    if len(np.unique(flat[:4096], axis=0)) > MOST_SYMBOLS:
        return None
    found = np.unique(flat, axis=0)
    return found if len(found) <= MOST_SYMBOLS else None
