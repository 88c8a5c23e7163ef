"""One step of a rule with a belief: statistics in, statistics out.

Everything that a rule computes with, its family's arrays included, becomes a part of
the step.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import jax.random as jr

from icpe.artifact.saved_rule import SavedRule
from icpe.core.arrays import PyTree
from icpe.core.errors import UnsupportedError
from icpe.core.spec import TaskSpec
from icpe.explorers.rules.belief_explorer import Situation
from icpe.export.told import Reply, Told


def step_of_rule(rule: SavedRule, spec: TaskSpec) -> tuple[PyTree, Callable]:
    """The state before the first step, and the step.

    Raises:
        UnsupportedError: it draws its queries at random.
    """
    explorer = rule.explorer
    belief, score = explorer.belief, explorer.score

    def begin(outcome) -> PyTree:
        return belief.init(outcome), score.remember(spec, outcome.dtype)

    def ranking(statistics, allowed, memory, key):
        scores = score(Situation(belief, statistics, allowed, memory), key=key)
        return jnp.maximum(scores, jnp.finfo(scores.dtype).min)

    def read(told: Told, state: PyTree, allowed) -> tuple[Reply, PyTree]:
        statistics, memory = state
        after = told.next_state(
            begin,
            lambda query, outcome: (
                belief.update(statistics, query, outcome),
                score.update(memory, query, outcome),
            ),
        )
        log_posterior = belief.log_posterior(after[0])
        sure = explorer.stopping.is_sure(after[0], log_posterior, told.price)
        gain = jnp.where(sure & spec.can_stop, -1.0, 1.0)
        scores = ranking(after[0], allowed, after[1], jr.key(0))
        return Reply(log_posterior, scores, jnp.broadcast_to(gain, scores.shape)), after

    outcome = jnp.zeros(spec.outcome_size)
    start = begin(outcome)
    every = jnp.ones(spec.num_queries, bool)
    if _depends_on_last(ranking, start[0], every, start[1], jr.key(0)):
        raise UnsupportedError(
            f"This explorer is the rule {rule.score!r}, which draws its queries at "
            "random, and runtimes of ONNX do not have the generator; make a rule with "
            "another score, or train an explorer, and export that."
        )
    return start, read


def _depends_on_last(function: Callable[..., Any], *inputs: Any) -> bool:
    """Whether the last input can have an influence on what a function gives."""
    closed = jax.make_jaxpr(function)(*inputs)
    jaxpr = closed.jaxpr
    touched = {jaxpr.invars[-1]}
    for equation in jaxpr.eqns:
        known = (it for it in equation.invars if not isinstance(it, jex.Literal))
        if not touched.isdisjoint(known):
            touched.update(equation.outvars)
    return not touched.isdisjoint(
        it for it in jaxpr.outvars if not isinstance(it, jex.Literal)
    )
