"""Active testing of finitely many hypotheses: Chernoff's test and its kin."""

from typing import Annotated

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import Flag, PRNGKey, Scalar
from icpe.core.errors import InvalidParameterError
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_threshold
from icpe.explorers.classical.arms_explorer import Scale, check_scale, scaled
from icpe.explorers.rules.belief_explorer import (
    AbstractBeliefStopping,
    AbstractScore,
    BeliefExplorer,
    PosteriorStopping,
    Situation,
)
from icpe.families.finite import AbstractFiniteFamily
from icpe.theory.active_testing import chernoff_proportions, extrinsic_divergences
from icpe.theory.finite_model import FiniteModel, LogWeights
from icpe.theory.thresholds import finite_model_threshold

STOPS = ("posterior", "valid")
Threshold = Annotated[str, "posterior: 1 - error_prob; or valid, for every task"]


class LikelihoodStopping(AbstractBeliefStopping):
    """Stops when one task is (H-1) / delta times as likely as every other.

    Under a uniform prior it errs with probability at most delta on every task
    (`finite_model_threshold`).
    """

    scale: Scalar | float = 1.0

    def level(
        self, name: str, spec: TaskSpec, operating_point: OperatingPoint
    ) -> Scalar | None:
        stops = stop_threshold(name, spec, operating_point) is not None
        return operating_point.error_prob if stops else None

    def is_sure(
        self,
        statistics: LogWeights,
        log_posterior: Float[Array, "hypotheses"],
        level: Scalar,
    ) -> Flag:
        """Whether the best task leads by enough."""
        best = jnp.argmax(statistics)
        is_best = jnp.arange(statistics.shape[0]) == best
        runner_up = jnp.max(jnp.where(is_best, -jnp.inf, statistics))
        enough = scaled(finite_model_threshold(statistics.shape[0], level), self.scale)
        return statistics[best] - runner_up >= enough


class ChernoffScore(AbstractScore):
    """Draws queries by the law that separates the most likely task fastest.

    Asymptotically optimal as delta falls, where every query tells every two tasks
    apart (Chernoff 1959, "Sequential design of experiments"). It pays no heed
    to what is learned about the other tasks, so that early queries are poor.
    """

    log_laws: Float[Array, "tasks queries"]

    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "queries"]:
        """Log-probabilities with Gumbel noise, whose largest is a draw."""
        logs = self.log_laws[jnp.argmax(now.statistics)]
        return logs + jr.gumbel(key, logs.shape)


class ExtrinsicScore(AbstractScore):
    """The extrinsic Jensen-Shannon divergence of each query.

    Unlike Chernoff's test it weighs all hypotheses from the start. If the divergence
    is at least A at every belief, it needs at most about (ln H + ln(1/delta)) / A
    queries on average (Naghshvar, Javidi and Wigger 2015, "Extrinsic Jensen-Shannon
    divergence: applications to variable-length coding"; Naghshvar and Javidi 2013,
    "Active sequential hypothesis testing").
    """

    model: FiniteModel

    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "queries"]:
        return extrinsic_divergences(self.model, now.statistics)


def make_chernoff(
    family: AbstractFiniteFamily,
    *,
    threshold: Threshold = "posterior",
    scale: Scale = 1.0,
) -> BeliefExplorer:
    """Chernoff's test for a finite model."""
    belief = family.finite_belief()
    laws = jnp.asarray(chernoff_proportions(belief.model), jnp.float32)
    score = ChernoffScore(jnp.log(laws))
    stopping = _stopping(threshold, scale)
    return BeliefExplorer("chernoff", belief, score, stopping, family.spec)


def make_naghshvar_javidi(
    family: AbstractFiniteFamily,
    *,
    threshold: Threshold = "posterior",
    scale: Scale = 1.0,
) -> BeliefExplorer:
    """Naghshvar and Javidi's test for a finite model."""
    belief = family.finite_belief()
    score = ExtrinsicScore(belief.model)
    return BeliefExplorer(
        "naghshvar-javidi", belief, score, _stopping(threshold, scale), family.spec
    )


def _stopping(threshold: str, scale: float) -> AbstractBeliefStopping:
    if threshold not in STOPS:
        raise InvalidParameterError(
            f"threshold must be one of {', '.join(STOPS)}; got {threshold!r}."
        )
    if threshold == "valid":
        return LikelihoodStopping(check_scale(scale))
    if scale != 1.0:
        raise InvalidParameterError(
            f"scale multiplies the valid threshold; got {scale} with "
            "threshold=posterior, which another error_prob moves."
        )
    return PosteriorStopping()
