"""Random queries that answer by the sample means: uniform sampling without a prior."""

from typing import Annotated

import equinox as eqx
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    AbstractSamplingRule,
    ArmsExplorer,
    LikelihoodRatioStopping,
    Scale,
    check_scale,
)
from icpe.explorers.classical.served import arms_of
from icpe.families.bandit.arms import Seen


class UniformSampling(AbstractSamplingRule):
    """Makes any query with equal probability."""

    num_queries: int = eqx.field(static=True)

    def preferences(
        self, memory: None, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        return jr.uniform(key, (self.num_queries,))


def make_uniform_sampling(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """Uniform sampling with the stopping rule of Track-and-Stop."""
    arms = arms_of(family)
    return ArmsExplorer(
        "uniform-sampling",
        arms,
        UniformSampling(arms.num_arms),
        LikelihoodRatioStopping(arms, threshold, check_scale(scale)),
    )
