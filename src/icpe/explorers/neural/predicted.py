"""The belief that predictions alone give, and the rule that acts on it: where the
networks start."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.spec import TaskSpec
from icpe.explorers.rules.belief_explorer import (
    AbstractScore,
    BeliefExplorer,
    Situation,
)
from icpe.explorers.rules.scores import InformationScore
from icpe.nets.evidence import AbstractPredictions
from icpe.nets.exact import ExactPredictions
from icpe.nets.predictions import LogWeights, Predictions


class PredictedBelief(AbstractPredictiveBelief):
    """Bayes' rule with counted tables, exact as far as these are."""

    predictions: Predictions

    def init(self, first_outcome: Float[Array, "outcome"]) -> LogWeights:
        return self.predictions.start(first_outcome)

    def update(
        self, state: LogWeights, query: Index, outcome: Float[Array, "outcome"]
    ) -> LogWeights:
        return self.predictions.update(state, query, outcome)

    def log_posterior(self, state: LogWeights) -> Float[Array, "hypotheses"]:
        return self.predictions.log_posterior(state)

    def information_gains(self, state: LogWeights) -> Float[Array, "queries"]:
        return self.predictions.information(jax.nn.softmax(state))


def belief_of(predictions: AbstractPredictions) -> AbstractPredictiveBelief:
    """The belief behind predictions, exact as far as they are."""
    if isinstance(predictions, ExactPredictions):
        return predictions.belief
    assert isinstance(predictions, Predictions)
    return PredictedBelief(predictions)


class PreferenceScore(AbstractScore):
    """What tables prefer a query for, per cost."""

    costs: tuple[float, ...] = eqx.field(static=True, default=())

    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "queries"]:
        assert isinstance(now.belief, PredictedBelief)
        weights = jax.nn.softmax(now.statistics)
        preference = now.belief.predictions.preference(weights)
        return preference / jnp.asarray(self.costs or 1.0, preference.dtype)


def greedy_rule(predictions: AbstractPredictions, spec: TaskSpec) -> BeliefExplorer:
    """The rule that makes the query which predictions prefer."""
    belief, score = belief_of(predictions), InformationScore(spec.costs)
    if isinstance(belief, PredictedBelief):
        score = PreferenceScore(spec.costs)
    return BeliefExplorer("greedy", belief, score)
