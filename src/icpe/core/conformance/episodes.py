"""Random episodes of a family, for its conformance suite."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from icpe.core.arrays import PyTree
from icpe.core.episode import allowed_queries, none_asked
from icpe.core.family import AbstractTaskFamily, StepResult


class Episodes(NamedTuple):
    """What an episode, or several, was and showed.

    Entry 0 of outcomes, masks and endings is from the reset.
    """

    task: PyTree
    hypothesis: Any
    queries: Any
    outcomes: Any
    masks: Any
    terminated: Any


def play_one(
    family: AbstractTaskFamily,
    scores: Float[Array, "steps queries"],
    keys: Key[Array, "steps+2"],
) -> Episodes:
    """Makes the allowed query with the best score at each step."""
    task = family.sample_task(key=keys[0])
    first = family.reset(task, key=keys[1])

    def visible(result: StepResult) -> tuple:
        return result.outcome, result.query_mask, result.terminated

    def step(carry, given):
        result, asked = carry
        scores, key = given
        mask = allowed_queries(result.query_mask, asked)
        query = jnp.argmax(jnp.where(mask, scores, -1.0))
        if asked is not None:
            asked = asked | (jnp.arange(scores.shape[0]) == query)
        result = family.step(result.state, query, task, key=key)
        return (result, asked), (query, visible(result))

    start = (first, none_asked(family.spec))
    _, (queries, rest) = lax.scan(step, start, (scores, keys[2:]))
    records = jax.tree.map(
        lambda first, rest: jnp.concatenate([first[None], rest]), visible(first), rest
    )
    return Episodes(task, family.hypothesis(task), queries, *records)
