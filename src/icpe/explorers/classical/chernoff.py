"""Chernoff's test: separate the most likely hypothesis from all others."""

from typing import Annotated

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.explorers.classical.finite_tests import (
    AbstractTestChoice,
    FiniteTestExplorer,
    finite_belief,
)
from icpe.families.search import BinarySearch, NoisyBinarySearch
from icpe.theory.active_testing import chernoff_proportions
from icpe.theory.finite_model import LogWeights


class ChernoffChoice(AbstractTestChoice):
    """Draws queries by the law that separates the most likely task fastest.

    Asymptotically optimal as delta falls, where every query tells every two tasks
    apart (Chernoff 1959, "Sequential design of experiments"). It pays no heed
    to what is learned about the other tasks, so that early queries are poor.
    """

    log_laws: Float[Array, "tasks queries"]

    def preferences(
        self, log_weights: LogWeights, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """Log-probabilities with Gumbel noise, whose largest is a draw."""
        logs = self.log_laws[jnp.argmax(log_weights)]
        return logs + jr.gumbel(key, logs.shape)


def make_chernoff(
    family: BinarySearch | NoisyBinarySearch,
    *,
    threshold: Annotated[
        str, "posterior: 1 - error_prob; or valid, for every task"
    ] = "posterior",
) -> FiniteTestExplorer:
    """Chernoff's test for a finite model."""
    belief = finite_belief(family)
    laws = jnp.asarray(chernoff_proportions(belief.model), jnp.float32)
    return FiniteTestExplorer(
        "chernoff", belief, ChernoffChoice(jnp.log(laws)), threshold
    )
