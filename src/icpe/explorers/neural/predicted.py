"""The belief that predictions alone give: where the networks start."""

import jax
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractPredictiveBelief
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
