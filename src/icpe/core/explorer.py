"""The contract of an explorer: whoever asks the questions, learned or classical."""

import abc
from typing import Literal

import equinox as eqx
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree, Scalar
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec


class StopStatistic(eqx.Module):
    """What decides whether an explorer stops: it does exactly if `margin` <= 0.

    Attributes:
        stop: what stopping now is worth; of a threshold, what is compared with it.
        ask: what asking on is worth, costs deducted; of a threshold, the threshold.
        margin: `ask` less `stop` (of a threshold less their logarithms), as the
            explorer computes it, since a difference of the two would be rounded.
        kind: "values" if both are values in units of probability, "threshold" if a
            belief is compared with a threshold.
    """

    stop: Scalar
    ask: Scalar
    margin: Scalar
    kind: Literal["values", "threshold"] = eqx.field(static=True)


class AbstractExplorer(eqx.Module):
    """Chooses queries, decides when to stop, and names the answer.

    Methods are written for one episode and are vmapped; the state is a pytree of
    arrays and holds everything that changes. Who runs the episode (`rollout`, a
    session) enforces the cap `operating_point.max_queries`, the horizon and the end
    by the family; an explorer only decides to stop earlier. In the regime `BUDGET`
    it must never stop by itself.
    """

    @property
    def made_for(self) -> TaskSpec | None:
        """The spec of the family it was made for, None if it does not say."""
        return None

    @abc.abstractmethod
    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> PyTree:
        """The state before the first query.

        Raises:
            OperatingPointError: the explorer cannot serve this operating point.
        """

    @abc.abstractmethod
    def ask(
        self, state: PyTree, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The next query, allowed by the mask, or `STOP`."""

    @abc.abstractmethod
    def tell(
        self, state: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        """The state after an outcome."""

    @abc.abstractmethod
    def recommend(self, state: PyTree) -> Index:
        """The hypothesis it would name now."""

    @abc.abstractmethod
    def log_posterior(self, state: PyTree) -> Float[Array, "hypotheses"] | None:
        """Log-probability of each hypothesis, or None if the explorer has no belief."""

    def stop_statistic(
        self, state: PyTree, query_mask: Bool[Array, "queries"]
    ) -> StopStatistic | None:
        """What decides whether it stops now, None where it never does or cannot say."""
        return None
