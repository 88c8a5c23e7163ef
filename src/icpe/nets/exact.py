"""Predictions by the exact belief of a family."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PyTree
from icpe.core.belief import AbstractPredictiveBelief, Outlook
from icpe.core.spec import TaskSpec
from icpe.nets.evidence import AbstractPredictions, PredictionShape, Told, share_removed

KIND = "belief"
_LEAST_LOG = -60.0
"""Of the impossible, which must not be minus infinity to be computed with."""


class ExactPredictions(AbstractPredictions):
    """What the family itself knows, where outcomes depend on one another."""

    belief: AbstractPredictiveBelief
    caution: Float[Array, ""]
    correction: Float[Array, ""]
    costs: tuple[float, ...] = eqx.field(static=True)
    ask_once: bool = eqx.field(static=True)

    @staticmethod
    def of(spec: TaskSpec, belief: AbstractPredictiveBelief) -> "ExactPredictions":
        """Trusted entirely in what they believe."""
        return ExactPredictions(
            belief=belief,
            caution=jnp.zeros(()),
            correction=jnp.ones(()),
            costs=spec.costs,
            ask_once=spec.ask_once,
        )

    def start(self, first_outcome: Float[Array, "outcome"]) -> PyTree:
        return self.belief.init(first_outcome)

    def update(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        return self.belief.update(state, query, outcome)

    def along(
        self,
        queries: Int[Array, "steps"],
        outcomes: Float[Array, "positions outcome"],
    ) -> PyTree:
        return states_along(self.belief, queries, outcomes)

    def told(self, state: PyTree, counts: Float[Array, "*batch queries"]) -> Told:
        look = self.belief.outlook
        for _ in range(counts.ndim - 1):
            look = jax.vmap(look)
        found: Outlook = look(state)
        log_posterior = jnp.maximum(found.log_posterior, _LEAST_LOG)
        removed = jnp.zeros(())
        if found.right_after is not None:
            right = jnp.exp(jnp.max(log_posterior, axis=-1))
            removed = share_removed(right, found.right_after)
        view = self.view(found.information, removed, counts)
        return Told(log_posterior, view)

    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"]:
        return jnp.maximum(self.belief.log_posterior(state), _LEAST_LOG)

    @property
    def information_is_exact(self) -> bool:
        return True

    def shape(self, trust: float) -> PredictionShape:
        return PredictionShape(KIND, 1, 0, "", 0, trust)


def states_along(
    belief: AbstractPredictiveBelief,
    queries: Int[Array, "steps"],
    outcomes: Float[Array, "positions outcome"],
) -> PyTree:
    """The statistics of a belief at every position of a history."""

    def step(state, made):
        query, outcome = made
        new = belief.update(state, jnp.maximum(query, 0), outcome)
        state = jax.tree.map(lambda a, b: jnp.where(query >= 0, a, b), new, state)
        return state, state

    first = belief.init(outcomes[0])
    _, later = lax.scan(step, first, (queries, outcomes[1:]))
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, later)
