"""A family as random queries leave it.

Tables are counted from answers to queries that could come first. Where the law of an
answer depends on what was asked before, or where a query is allowed only then, those
that come later tell more. Random queries bias nothing: they do not depend on answers.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.episode import STOP, allowed_queries, none_asked
from icpe.core.family import AbstractTaskFamily, StepResult
from icpe.core.spec import TaskSpec
from icpe.core.stopping import random_query

_MOST_QUERIES = 32


def carries_state(family: AbstractTaskFamily) -> bool:
    """Whether an episode changes anything, so that later answers may have a new law."""
    key = jr.key(0)
    task = eqx.filter_eval_shape(lambda: family.sample_task(key=key))
    first = eqx.filter_eval_shape(lambda task: family.reset(task, key=key), task)
    return bool(jax.tree.leaves(first.state)) and family.spec.horizon > 1


class Later(AbstractTaskFamily):
    """Episodes that begin after up to so many random queries, as many as were drawn.

    A reset shows what that of the family shows. Queries that cannot be made any more,
    or not yet, are masked, all of them where the episode has ended.
    """

    family: AbstractTaskFamily
    most: int = eqx.field(static=True)

    @staticmethod
    def of(family: AbstractTaskFamily) -> "Later":
        """At least one more query can be made within the horizon."""
        return Later(family, min(family.spec.horizon - 1, _MOST_QUERIES))

    @property
    def spec(self) -> TaskSpec:
        return self.family.spec

    def sample_task(self, *, key: PRNGKey) -> PyTree:
        return self.family.sample_task(key=key)

    def hypothesis(self, task: PyTree):
        return self.family.hypothesis(task)

    def step(self, state: PyTree, query, task: PyTree, *, key: PRNGKey) -> StepResult:
        return self.family.step(state, query, task, key=key)

    def reset(self, task: PyTree, *, key: PRNGKey) -> StepResult:
        first_key, number_key, each_key = jr.split(key, 3)
        first = self.family.reset(task, key=first_key)
        number = jr.randint(number_key, (), 0, self.most + 1)

        def ask(i, carry):
            result, asked = carry
            query_key, step_key = jr.split(jr.fold_in(each_key, i))
            allowed = allowed_queries(result.query_mask, asked)
            query = random_query(allowed, key=query_key)
            goes_on = (i < number) & (query != STOP) & ~result.terminated
            query = jnp.maximum(query, 0)
            then = self.family.step(result.state, query, task, key=step_key)
            if asked is not None:
                asked = asked | (goes_on & (jnp.arange(asked.shape[0]) == query))
            result = jax.tree.map(lambda a, b: jnp.where(goes_on, a, b), then, result)
            return result, asked

        start = (first, none_asked(self.spec))
        result, asked = lax.fori_loop(0, self.most, ask, start)
        allowed = allowed_queries(result.query_mask, asked) & ~result.terminated
        return StepResult(result.state, first.outcome, allowed, result.terminated)
