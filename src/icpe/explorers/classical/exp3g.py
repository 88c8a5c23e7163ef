"""EXP3.G: exponential weights on a feedback graph, made for small regret."""

from typing import Annotated

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    AbstractSamplingRule,
    ArmsExplorer,
    LikelihoodRatioStopping,
    Scale,
    check_scale,
)
from icpe.explorers.classical.served import arms_of
from icpe.families.bandit.arms import GraphArms, Seen


class ExponentialWeights(AbstractSamplingRule):
    """Draws queries by exponential weights of importance-weighted losses.

    The loss of an arm is 1 minus its reward. A loss that is revealed is divided by the
    probability that it is, which needs the graph; query u has probability
    (1 - g) exp(-e L_u) / sum + g / K, with L the sum of these losses and
    e = g = min(1/2, sqrt(ln K / (K t))) at time t. Its regret is of order sqrt(t) for
    graphs in which every arm reveals itself or is revealed by all others (Alon,
    Cesa-Bianchi, Dekel and Koren 2015, "Online learning with feedback graphs",
    Theorem 2; the paper cites Rouyer et al. 2022 for its tuning). Small regret is not
    identification: it has no guarantee of finding the best arm, and is here because the
    paper compares with it. The memory is L.
    """

    arms: GraphArms

    def init(self, seen: Seen, error_prob: Scalar | None) -> Float[Array, "queries"]:
        return jnp.zeros_like(seen.sums)

    def update(
        self,
        memory: Float[Array, "queries"],
        seen: Seen,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> Float[Array, "queries"]:
        """Adds the losses that were revealed."""
        # The query was drawn before it was counted.
        time = self.arms.time(seen) - 1.0
        chance = self._probabilities(memory, time) @ self._graph(memory.dtype)
        rewards = self.arms.rewards(query, outcome)
        losses = rewards.counts.astype(memory.dtype) - rewards.sums
        return memory + losses / jnp.maximum(chance, 1e-6)

    def preferences(
        self, memory: Float[Array, "queries"], seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """Log-probabilities with Gumbel noise, whose largest is a draw."""
        probs = self._probabilities(memory, self.arms.time(seen))
        return jnp.log(probs) + jr.gumbel(key, probs.shape)

    def _probabilities(
        self, losses: Float[Array, "queries"], time: Scalar
    ) -> Float[Array, "queries"]:
        size = self.arms.num_arms
        rate = jnp.sqrt(np.log(size) / (size * jnp.maximum(time, 1.0)))
        rate = jnp.minimum(0.5, rate)
        return (1.0 - rate) * jax.nn.softmax(-rate * losses) + rate / size

    def _graph(self, dtype) -> Float[Array, "queries arms"]:
        return jnp.asarray(self.arms.graph, dtype)


def make_exp3g(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """EXP3.G with the stopping rule of TaS-FG."""
    arms = arms_of(family)
    assert isinstance(arms, GraphArms)
    return ArmsExplorer(
        "exp3-g",
        arms,
        ExponentialWeights(arms),
        LikelihoodRatioStopping(arms, threshold, check_scale(scale)),
    )
