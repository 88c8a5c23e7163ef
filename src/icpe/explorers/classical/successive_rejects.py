"""Successive rejects: drop one arm at a time."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from icpe.core.arrays import Index
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.elimination import (
    AbstractSchedule,
    EliminationExplorer,
)
from icpe.explorers.classical.served import count_arms


class SuccessiveRejects(AbstractSchedule):
    """K - 1 phases, after each of which the worst arm is dropped.

    By the end of phase k every arm that is left has been pulled
    n_k = ceil((n - K) / (L (K + 1 - k))) times, L = 1/2 + sum over i = 2..K of 1/i.
    The answer is wrong with probability at most K (K-1) / 2 exp(-(n - K) / (L H2)),
    where H2 = max over i of i / gap_i^2, for rewards in [0, 1] (Audibert, Bubeck and
    Munos 2010, "Best arm identification in multi-armed bandits", Theorem 2). A budget
    that leaves nothing to a phase still pulls each arm once.
    """

    num_arms: int = eqx.field(static=True)
    forgets: bool = eqx.field(static=True, default=False)

    @property
    def survivors(self) -> tuple[int, ...]:
        """One fewer after each phase."""
        return tuple(range(self.num_arms - 1, 0, -1))

    def pulls_until(self, budget: Index) -> Int[Array, "phases"]:
        """The n_k."""
        size = self.num_arms
        harmonic = 0.5 + np.sum(1.0 / np.arange(2, size + 1))
        arms_left = np.arange(size, 1, -1)
        shares = jnp.asarray(1.0 / (harmonic * arms_left), jnp.float32)
        spare = (budget - size).astype(jnp.float32)
        # Less a little, so that rounding does not turn a whole number into the next.
        pulls = jnp.ceil(spare * shares - 1e-4).astype(jnp.int32)
        return jnp.maximum(pulls, 1)


def make_successive_rejects(family: AbstractTaskFamily) -> EliminationExplorer:
    """Successive rejects for a bandit."""
    schedule = SuccessiveRejects(count_arms(family))
    return EliminationExplorer("successive-rejects", schedule)
