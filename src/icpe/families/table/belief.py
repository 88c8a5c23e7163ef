"""The exact posterior of a table's family: every row that it was made of has a weight.

A case is a row of the table, smeared by the kernels. So after some features are known,
the weight of a row is its prior weight times the probability that it was smeared into
what was seen, and a class is as probable as its rows together: the classifier of Parzen
(1962) on any subset of the features, by Bayes' rule.
"""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax.scipy.special import entr, logsumexp
from jaxtyping import Array, Float

from icpe.core.arrays import Index
from icpe.core.belief import AbstractPredictiveBelief

if TYPE_CHECKING:
    from icpe.families.table.law import CaseTable

Weights = Float[Array, "classes rows"]

_LEAST = 1e-12


class RowsBelief(AbstractPredictiveBelief):
    """A log-weight for every row, class by class."""

    family: "CaseTable"

    def init(self, first_outcome: Float[Array, "outcome"]) -> Weights:
        return self.family.log_weight

    def update(
        self, state: Weights, query: Index, outcome: Float[Array, "outcome"]
    ) -> Weights:
        """Bayes' rule for all features that the query reveals."""
        family = self.family
        features, used = family.members(query)
        seen = family.cells_of(features, outcome)

        def evidence(feature, cell, counts):
            by_cell = jnp.log(jnp.maximum(family.kernel[feature, :, cell], _LEAST))
            rows = family.cells[..., feature].astype(jnp.int32)
            return jnp.where(counts, by_cell[rows], 0.0)

        new = state + jnp.sum(jax.vmap(evidence)(features, seen, used), axis=0)
        return new - logsumexp(new)

    def log_posterior(self, state: Weights) -> Float[Array, "classes"]:
        """The weights of its rows together."""
        return jax.nn.log_softmax(logsumexp(state, axis=1))

    def information_gains(self, state: Weights) -> Float[Array, "queries"]:
        """Mutual information of the class and the code of the outcome.

        The code of a single feature is its cell, so this is exact; a group of features
        has so many outcomes that those like one of few rows share a code.
        """
        family = self.family
        weights = jax.nn.softmax(state.reshape(-1)).reshape(state.shape)
        size = family.code_kernel.shape[-1]
        codes = jax.nn.one_hot(family.codes, size, dtype=weights.dtype)
        mass = jnp.einsum("hn,hnqu->hqu", weights, codes)
        joint = jnp.einsum("hqu,quv->qvh", mass, family.code_kernel)
        classes = jnp.sum(weights, axis=1)
        mixed = jnp.sum(joint, axis=-1)
        told = (
            jnp.sum(entr(classes))
            + jnp.sum(entr(mixed), axis=-1)
            - jnp.sum(entr(joint), axis=(-1, -2))
        )
        return jnp.maximum(told, 0.0)
