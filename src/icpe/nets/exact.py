"""Predictions by the exact belief of a family."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from icpe.core.arrays import Index, PyTree
from icpe.core.belief import AbstractBelief, AbstractPredictiveBelief, Outlook
from icpe.core.errors import UnsupportedError
from icpe.core.expected_gains import empty_table
from icpe.core.family import AbstractTaskFamily
from icpe.core.likelihood import LikelihoodBelief, bare_belief, has_likelihood
from icpe.core.spec import TaskSpec
from icpe.nets.evidence import AbstractPredictions, PredictionShape, Told, share_removed
from icpe.nets.looking_ahead import TabledBelief
from icpe.nets.predictions import Predictions

OWN, BY_LIKELIHOOD, BY_TABLES = "belief", "likelihood", "belief-"
"""Kinds: the family's own, one by its likelihood, or any that looks ahead by counted
tables, whose kind follows."""
_LEAST_LOG = -60.0
"""Of the impossible, which must not be minus infinity to be computed with."""
_ROUNDING = 1e-6
"""Nats that may be mere rounding; among such, no query is better than others."""


class ExactPredictions(AbstractPredictions):
    """What the family itself knows."""

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
        known = found.information > _ROUNDING
        information = jnp.where(known, found.information, 0.0)
        view = self.view(information, removed, counts)
        return Told(log_posterior, view)

    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"]:
        return jnp.maximum(self.belief.log_posterior(state), _LEAST_LOG)

    @property
    def information_is_exact(self) -> bool:
        return True

    def shape(self, trust: float) -> PredictionShape:
        kind, size = OWN, 0
        if isinstance(self.belief, TabledBelief):
            tables = self.belief.tables.shape(trust)
            return dataclasses.replace(tables, kind=BY_TABLES + tables.kind)
        if isinstance(self.belief, LikelihoodBelief):
            kind, size = BY_LIKELIHOOD, self.belief.outcomes.probability.shape[2]
        return PredictionShape(kind, 1, size, "", 0, trust)


def is_exact(kind: str) -> bool:
    """Whether predictions of a kind are those of an exact belief."""
    return kind in (OWN, BY_LIKELIHOOD) or kind.startswith(BY_TABLES)


def posterior_of(family: AbstractTaskFamily) -> AbstractBelief | None:
    """The exact posterior of a family without what it expects, None if it has none."""
    try:
        belief = family.exact_belief()
    except UnsupportedError:
        return None
    if belief is None and has_likelihood(family):
        return bare_belief(family)
    return belief


def shell(family: AbstractTaskFamily, shape: PredictionShape) -> ExactPredictions:
    """Predictions of this shape without numbers, which are in a file.

    Raises:
        ValueError: the family has no such belief.
    """
    family, spec = family.with_data(), family.spec
    sizes = (spec.num_hypotheses, spec.num_queries, shape.num_cells)
    by_likelihood = shape.kind == BY_LIKELIHOOD
    known = None if by_likelihood else posterior_of(family)

    def build() -> ExactPredictions:
        belief = known
        if by_likelihood:
            belief = LikelihoodBelief(family, empty_table(*sizes))
        elif belief is not None and shape.kind.startswith(BY_TABLES):
            kind = shape.kind.removeprefix(BY_TABLES)
            tables = Predictions.empty(spec, dataclasses.replace(shape, kind=kind))
            belief = TabledBelief(belief, tables)
        if not isinstance(belief, AbstractPredictiveBelief):
            raise ValueError("it starts from an exact belief, and its family has none")
        return ExactPredictions.of(spec, belief)

    return eqx.filter_eval_shape(build)


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
