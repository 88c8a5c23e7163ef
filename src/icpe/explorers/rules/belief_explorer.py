"""An explorer that acts on a belief: a score chooses queries, a threshold stops.

Most rules of pure exploration with a known prior are of this form. They differ by how
they score queries (`rules/scores.py`) and by whose belief it is: that of the family,
which is exact, or that of another explorer (`rules/borrowed.py`).
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, PyTree, Scalar
from icpe.core.belief import AbstractBelief
from icpe.core.explorer import AbstractExplorer, StopStatistic
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.core.stopping import check_threshold, is_confident, stop_if, stop_threshold


class Situation(eqx.Module):
    """What a score may look at: the belief, and what is allowed."""

    belief: AbstractBelief
    statistics: PyTree
    query_mask: Bool[Array, "queries"]
    memory: PyTree

    @property
    def log_posterior(self) -> Float[Array, "hypotheses"]:
        """Log-probability of each hypothesis; not computed unless it is read."""
        return self.belief.log_posterior(self.statistics)


class AbstractScore(eqx.Module):
    """How much each query is wanted; the allowed one with the largest score is made."""

    @abc.abstractmethod
    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "queries"]:
        """A score for each query."""

    def remember(self, spec: TaskSpec, dtype) -> PyTree:
        """What the score remembers beside the belief, before the first query."""
        return None

    def update(
        self, memory: PyTree, query: Index, outcome: Float[Array, "outcome"]
    ) -> PyTree:
        """The memory after an outcome."""
        return memory


class AbstractBeliefStopping(eqx.Module):
    """When a belief is sure enough."""

    @abc.abstractmethod
    def level(
        self, name: str, spec: TaskSpec, operating_point: OperatingPoint
    ) -> Scalar | None:
        """What `is_sure` compares with, None where the explorer never stops.

        Raises:
            OperatingPointError: a price, which a rule without values cannot weigh.
        """

    @abc.abstractmethod
    def is_sure(
        self,
        statistics: PyTree,
        log_posterior: Float[Array, "hypotheses"],
        level: Scalar,
    ) -> Flag:
        """Whether to stop."""

    def statistic(
        self, log_posterior: Float[Array, "hypotheses"], level: Scalar
    ) -> StopStatistic | None:
        """What `is_sure` compares, where that is a belief with a threshold."""
        return None


class PosteriorStopping(AbstractBeliefStopping):
    """Stops when the largest posterior reaches the threshold, else 1 - error_prob.

    With an exact posterior and the default it errs with probability at most error_prob
    on average over the prior. A posterior overshoots its threshold at the stop, so the
    default errs less than asked; a threshold tuned to the accuracy asked for needs
    fewer queries.
    """

    threshold: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_threshold(self.threshold)

    def level(
        self, name: str, spec: TaskSpec, operating_point: OperatingPoint
    ) -> Scalar | None:
        return stop_threshold(name, spec, operating_point, self.threshold)

    def is_sure(
        self,
        statistics: PyTree,
        log_posterior: Float[Array, "hypotheses"],
        level: Scalar,
    ) -> Flag:
        """Whether the best hypothesis is probable enough."""
        return is_confident(log_posterior, level)

    def statistic(
        self, log_posterior: Float[Array, "hypotheses"], level: Scalar
    ) -> StopStatistic:
        best = jnp.max(log_posterior)
        return StopStatistic(jnp.exp(best), level, jnp.log(level) - best, "threshold")


class DoubtStopping(AbstractBeliefStopping):
    """Stops when the doubt has fallen to the price of the operating point.

    The doubt is one minus the largest posterior. A price of 0 never stops. With this a
    rule has operating points like those of a trained explorer, and one program for all.
    """

    def level(
        self, name: str, spec: TaskSpec, operating_point: OperatingPoint
    ) -> Scalar | None:
        if operating_point.regime is Regime.BUDGET or not spec.can_stop:
            return None
        if operating_point.regime is Regime.ERROR_PROB:
            return operating_point.error_prob
        return operating_point.price

    def is_sure(
        self,
        statistics: PyTree,
        log_posterior: Float[Array, "hypotheses"],
        level: Scalar,
    ) -> Flag:
        """Whether the best hypothesis leaves no more doubt than that."""
        return (level > 0) & (jnp.max(log_posterior) >= jnp.log1p(-level))

    def statistic(
        self, log_posterior: Float[Array, "hypotheses"], level: Scalar
    ) -> StopStatistic:
        best = jnp.max(log_posterior)
        margin = jnp.where(level > 0, jnp.log1p(-level) - best, jnp.inf)
        return StopStatistic(jnp.exp(best), 1.0 - level, margin, "threshold")


class BeliefState(eqx.Module):
    """Statistics of the belief, memory of the score; `level` None: never stops."""

    statistics: PyTree
    memory: PyTree
    level: Scalar | None


class BeliefExplorer(AbstractExplorer):
    """Makes the allowed query of largest score and answers by the belief."""

    name: str = eqx.field(static=True)
    belief: AbstractBelief
    score: AbstractScore
    stopping: AbstractBeliefStopping = PosteriorStopping()
    spec: TaskSpec | None = eqx.field(static=True, default=None)

    @property
    def made_for(self) -> TaskSpec | None:
        """The spec of the family whose belief it has."""
        return self.spec

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> BeliefState:
        return BeliefState(
            self.belief.init(first_outcome),
            self.score.remember(spec, first_outcome.dtype),
            self.stopping.level(self.name, spec, operating_point),
        )

    def ask(
        self, state: BeliefState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The allowed query of largest score, the first of several."""
        now = Situation(self.belief, state.statistics, query_mask, state.memory)
        scores = self.score(now, key=key)
        scores = jnp.maximum(scores, jnp.finfo(scores.dtype).min)
        query = jnp.argmax(jnp.where(query_mask, scores, -jnp.inf))
        stop = ~jnp.any(query_mask)
        if state.level is not None:
            stop = stop | self.stopping.is_sure(
                state.statistics, now.log_posterior, state.level
            )
        return stop_if(stop, query)

    def tell(
        self, state: BeliefState, query: Index, outcome: Float[Array, "outcome"]
    ) -> BeliefState:
        return BeliefState(
            self.belief.update(state.statistics, query, outcome),
            self.score.update(state.memory, query, outcome),
            state.level,
        )

    def recommend(self, state: BeliefState) -> Index:
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: BeliefState) -> Float[Array, "hypotheses"]:
        return self.belief.log_posterior(state.statistics)

    def stop_statistic(
        self, state: BeliefState, query_mask: Bool[Array, "queries"]
    ) -> StopStatistic | None:
        if state.level is None:
            return None
        return self.stopping.statistic(self.log_posterior(state), state.level)
