"""Naghshvar and Javidi's test: raise the log odds of the truth fastest."""

from typing import Annotated

from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.explorers.classical.finite_tests import (
    AbstractTestChoice,
    FiniteTestExplorer,
    finite_belief,
)
from icpe.families.search import BinarySearch, NoisyBinarySearch
from icpe.theory.active_testing import extrinsic_divergences
from icpe.theory.finite_model import FiniteModel, LogWeights


class ExtrinsicChoice(AbstractTestChoice):
    """Makes the query of largest extrinsic Jensen-Shannon divergence.

    Unlike Chernoff's test it weighs all hypotheses from the start. If the divergence
    is at least A at every belief, it needs at most about (ln H + ln(1/delta)) / A
    queries on average (Naghshvar, Javidi and Wigger 2015, "Extrinsic Jensen-Shannon
    divergence: applications to variable-length coding"; Naghshvar and Javidi 2013,
    "Active sequential hypothesis testing").
    """

    model: FiniteModel

    def preferences(
        self, log_weights: LogWeights, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """The divergences."""
        return extrinsic_divergences(self.model, log_weights)


def make_naghshvar_javidi(
    family: BinarySearch | NoisyBinarySearch,
    *,
    threshold: Annotated[
        str, "posterior: 1 - error_prob; or valid, for every task"
    ] = "posterior",
) -> FiniteTestExplorer:
    """Naghshvar and Javidi's test for a finite model."""
    belief = finite_belief(family)
    return FiniteTestExplorer(
        "naghshvar-javidi", belief, ExtrinsicChoice(belief.model), threshold
    )
