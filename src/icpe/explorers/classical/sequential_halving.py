"""Sequential halving: drop half of the arms at a time."""

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


class SequentialHalving(AbstractSchedule):
    """R = ceil(log2 K) rounds of equal cost, after each of which half are dropped.

    In a round with S arms each is pulled floor(n / (S R)) times, and only these
    rewards rank them. The answer is wrong with probability at most
    3 log2(K) exp(-n / (8 H2 log2(K))), where H2 = max over i of i / gap_i^2, for
    rewards in [0, 1] (Karnin, Koren and Somekh 2013, "Almost optimal exploration in
    multi-armed bandits", Theorem 4.1). A budget that leaves nothing to a round still
    pulls each arm once.
    """

    num_arms: int = eqx.field(static=True)
    forgets: bool = eqx.field(static=True, default=True)

    @property
    def survivors(self) -> tuple[int, ...]:
        """Half, rounded up, after each round."""
        left, survivors = self.num_arms, []
        while left > 1:
            left = (left + 1) // 2
            survivors.append(left)
        return tuple(survivors)

    def pulls_until(self, budget: Index) -> Int[Array, "phases"]:
        """The pulls of all rounds up to each."""
        arms_left = np.array((self.num_arms, *self.survivors[:-1]))
        per_round = budget // jnp.asarray(arms_left * arms_left.size, jnp.int32)
        return jnp.cumsum(jnp.maximum(per_round, 1)).astype(jnp.int32)


def make_sequential_halving(family: AbstractTaskFamily) -> EliminationExplorer:
    """Sequential halving for a bandit."""
    schedule = SequentialHalving(count_arms(family))
    return EliminationExplorer("sequential-halving", schedule)
