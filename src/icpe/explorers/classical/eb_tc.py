"""EB-TC: the empirical best arm against the rival it is hardest to tell from."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    PREFERRED,
    AbstractSamplingRule,
    ArmsExplorer,
    LikelihoodRatioStopping,
    Scale,
    check_scale,
    untried_first,
)
from icpe.explorers.classical.served import plain_arms_of
from icpe.families.bandit.arms import PlainArms, Seen


class TransportationCostSampling(AbstractSamplingRule):
    """Pulls the empirical best arm or its challenger, each with probability 1/2.

    The challenger is the rival with the least transportation cost W(a), which is the
    likelihood ratio of the leader against it (EB-TC), or with the least W(a) + ln N_a
    where `improved` (EB-TCI), which explores more. EB-TCI needs T*(1/2) ln(1/delta)
    pulls as delta falls, at most twice the optimum (Jourdan, Degenne, Baudry, de Heide
    and Kaufmann 2022, "Top two algorithms revisited", Theorem 2.3); EB-TC does so in
    practice but may stick to a wrong leader for long. Each arm is pulled once first.
    """

    arms: PlainArms
    improved: bool = eqx.field(static=True, default=False)

    def preferences(
        self, memory: None, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """The leader or the rivals, the cheapest of them first."""
        cost = self.arms.evidence(seen)
        if self.improved:
            cost = cost + jnp.log(jnp.maximum(seen.counts, 1.0))
        is_leader = jnp.arange(cost.shape[0]) == seen.leader
        scores = jnp.where(is_leader, -jnp.inf, -cost)
        first = jnp.where(is_leader & jr.bernoulli(key), PREFERRED, scores)
        return untried_first(first, seen)


def make_eb_tc(
    family: AbstractTaskFamily,
    *,
    improved: Annotated[bool, "EB-TCI: add ln N_a to the cost of a rival"] = False,
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """EB-TC for a bandit."""
    arms = plain_arms_of(family)
    return ArmsExplorer(
        "eb-tc",
        arms,
        TransportationCostSampling(arms, improved),
        LikelihoodRatioStopping(arms, threshold, check_scale(scale)),
    )
