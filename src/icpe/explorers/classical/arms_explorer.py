"""A classical explorer of arms: a sampling rule, a stopping rule, the sample means."""

import abc
from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, PyTree, Scalar
from icpe.core.checks import check_positive
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if, stop_threshold
from icpe.families.bandit.arms import AbstractArms, Seen
from icpe.theory.thresholds import heuristic_threshold

THRESHOLDS = ("heuristic", "valid")

Scale = Annotated[
    float, "multiplies the threshold; below 1 it stops earlier, without a theorem"
]

PREFERRED = 1e30
"""The score of a query that comes before all others but those never made."""


class AbstractSamplingRule(eqx.Module):
    """Which query to make next, for one episode; `memory` is what it remembers."""

    def init(self, seen: Seen, error_prob: Scalar | None) -> PyTree:
        """The memory before the first query; without `error_prob` under a budget."""
        return None

    def update(
        self,
        memory: PyTree,
        seen: Seen,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> PyTree:
        """The memory after an outcome, which `seen` includes."""
        return memory

    @abc.abstractmethod
    def preferences(
        self, memory: PyTree, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """A score for each query; the allowed one with the largest is made."""


class AbstractStoppingRule(eqx.Module):
    """When the leader is sure enough."""

    @abc.abstractmethod
    def is_sure(self, seen: Seen, error_prob: Scalar) -> Flag:
        """Whether to stop."""


class LikelihoodRatioStopping(AbstractStoppingRule):
    """Stops when the evidence against every rival passes a threshold.

    The evidence is the generalized likelihood ratio of Chernoff's stopping rule
    (Garivier and Kaufmann 2016, section 3.2), t / T(N/t; sample means) in the paper.
    `valid`: it errs with probability at most delta on every task, by the theorem that
    the arms name. `heuristic`: ln((1 + ln t) / delta) as in the paper, no theorem.
    `scale` multiplies either; below 1 there is no theorem.
    """

    arms: AbstractArms
    threshold: str = eqx.field(static=True)
    scale: Scalar | float = 1.0

    def __check_init__(self):
        check_threshold_name(self.threshold)

    def is_sure(self, seen: Seen, error_prob: Scalar) -> Flag:
        if self.threshold == "valid":
            enough = self.arms.valid_threshold(seen, error_prob)
        else:
            enough = heuristic_threshold(self.arms.time(seen), error_prob)
        enough = scaled(enough, self.scale)
        evidence = self.arms.evidence(seen)
        return jnp.all(evidence >= jnp.broadcast_to(enough, evidence.shape))


class ArmsState(eqx.Module):
    """What was seen, what the rule remembers; `error_prob` is None under a budget."""

    seen: Seen
    memory: PyTree
    error_prob: Scalar | None


class ArmsExplorer(AbstractExplorer):
    """A method of best-arm identification put together from its three rules.

    It recommends the arm with the largest sample mean and has no belief. Under a
    budget the sampling rule alone is used, where it can do without delta.
    """

    name: str = eqx.field(static=True)
    arms: AbstractArms
    sampling: AbstractSamplingRule
    stopping: AbstractStoppingRule
    serves_budgets: bool = eqx.field(static=True, default=True)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> ArmsState:
        """Serves an error probability, or a budget where it can."""
        stop_threshold(self.name, spec, operating_point)  # refuses prices
        error_prob = None
        if operating_point.regime is Regime.ERROR_PROB:
            error_prob = operating_point.error_prob
        elif not self.serves_budgets:
            raise OperatingPointError(
                f"Explorer {self.name!r} needs the error probability to choose its "
                "queries and cannot serve a budget; ask for error_prob."
            )
        seen = self.arms.nothing(first_outcome.dtype)
        return ArmsState(seen, self.sampling.init(seen, error_prob), error_prob)

    def ask(
        self, state: ArmsState, query_mask: Bool[Array, "queries"], *, key: PRNGKey
    ) -> Index:
        """The allowed query that the sampling rule prefers."""
        scores = self.sampling.preferences(state.memory, state.seen, key=key)
        scores = jnp.maximum(scores, jnp.finfo(scores.dtype).min)
        query = jnp.argmax(jnp.where(query_mask, scores, -jnp.inf))
        stop = ~jnp.any(query_mask)
        if state.error_prob is not None:
            stop = stop | self.stopping.is_sure(state.seen, state.error_prob)
        return stop_if(stop, query)

    def tell(
        self, state: ArmsState, query: Index, outcome: Float[Array, "outcome"]
    ) -> ArmsState:
        """Counts rewards and updates the memory."""
        seen = self.arms.see(state.seen, query, outcome)
        memory = self.sampling.update(state.memory, seen, query, outcome)
        return ArmsState(seen, memory, state.error_prob)

    def recommend(self, state: ArmsState) -> Index:
        """The arm with the largest sample mean."""
        return state.seen.leader

    def log_posterior(self, state: ArmsState) -> None:
        """None: a frequentist has no belief."""
        return None


def check_threshold_name(name: str) -> None:
    """Raises one sentence unless it is a kind of threshold."""
    if name not in THRESHOLDS:
        raise InvalidParameterError(
            f"threshold must be one of {', '.join(THRESHOLDS)}; got {name!r}."
        )


def check_scale(scale: float) -> float:
    """Raises one sentence unless a threshold can be multiplied by it."""
    check_positive("scale", scale)
    return scale


def scaled(
    threshold: Float[Array, "*shape"], scale: Scalar | float
) -> Float[Array, "*shape"]:
    """The threshold times its scale."""
    return threshold * jnp.asarray(scale, threshold.dtype)


def untried_first(
    scores: Float[Array, "queries"], seen: Seen
) -> Float[Array, "queries"]:
    """The scores, with queries that were never made before all others."""
    return jnp.where(seen.pulls == 0, jnp.inf, scores)
