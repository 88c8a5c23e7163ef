"""What queries are expected to tell where the law of outcomes is known.

Outcomes that are few are enumerated, all others are put into cells.
"""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Float

Weights = Float[Array, "hypotheses"]
Gains = Float[Array, "queries"]

_FEWEST_CELLS = 32
_LARGEST_JOINT = 2**14
"""Entries up to which the best hypothesis of every outcome is looked for."""


class OutcomeTable(eqx.Module):
    """P(outcome | hypothesis, query) on a finite set of outcomes, or of cells of them.

    Neighboring cells are alike: next to each other on a line, or halves of a larger
    cell.
    """

    probability: Float[Array, "hypotheses queries outcomes"]
    has_cells: bool = eqx.field(static=True, default=False)

    def gains(self, weights: Weights) -> Gains:
        """Mutual information of hypothesis and outcome, in nats; exact for the table.

        Args:
            weights: the probabilities of the hypotheses.
        """
        mixed = jnp.einsum("h,hqo->qo", weights, self.probability)
        conditional = jnp.sum(entr(self.probability), axis=2)
        return jnp.sum(entr(mixed), axis=1) - weights @ conditional

    def right_after(self, weights: Weights) -> Gains | None:
        """Probability that the best guess after the answer is right.

        None where that would take long.
        """
        if self.probability.size > _LARGEST_JOINT:
            return None
        joint = weights[:, None, None] * self.probability
        return jnp.sum(jnp.max(joint, axis=0), axis=1)

    def coarser(self) -> "OutcomeTable | None":
        """With two neighboring cells in one, which tell no more than they do apart.

        None where too few would be left.
        """
        *sizes, cells = self.probability.shape
        if not self.has_cells or cells % 2 or cells // 2 < _FEWEST_CELLS:
            return None
        pairs = self.probability.reshape(*sizes, cells // 2, 2)
        return OutcomeTable(jnp.sum(pairs, axis=-1), has_cells=True)


def empty_table(num_hypotheses: int, num_queries: int, cells: int) -> OutcomeTable:
    """A table of these sizes that says nothing."""
    return OutcomeTable(jnp.zeros((num_hypotheses, num_queries, cells)), has_cells=True)
