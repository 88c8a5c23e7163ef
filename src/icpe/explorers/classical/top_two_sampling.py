"""Top-two sampling with a posterior under a flat prior: TTPS and TTTS."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
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
    untried_first,
)
from icpe.explorers.classical.served import plain_arms_of
from icpe.families.bandit.arms import BernoulliArms, PlainArms, Seen
from icpe.theory.bernoulli_best_arm import bernoulli_best_arm_log_posterior
from icpe.theory.gaussian_best_arm import flat_prior_best_arm

_NUM_PANELS = 32


class TopTwoSampling(AbstractSamplingRule):
    """Pulls the leader or the challenger, each with probability 1/2.

    Let p_i be the posterior probability that arm i is best, under a flat prior of the
    means (uniform for success rates).

    * Probability sampling (TTPS): leader and challenger are the two largest p_i.
    * Thompson sampling (TTTS): the leader is drawn by p, the challenger by p given that
      it is another arm, which is the law of drawing again until it is one.

    Both need T*(1/2) ln(1/delta) pulls as delta falls, at most twice the optimum
    (Russo 2020, "Simple Bayesian algorithms for best-arm identification", Theorem 1;
    Jourdan et al. 2022, "Top two algorithms revisited"). Each arm is pulled once first.
    """

    arms: PlainArms
    draws: bool = eqx.field(static=True)

    def preferences(
        self, memory: None, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """The two arms before all others, the one that the coin chose first."""
        leader_key, challenger_key, coin_key = jr.split(key, 3)
        scores = jnp.log(jnp.maximum(self.best_probabilities(seen), 1e-37))
        leader_scores, challenger_scores = scores, scores
        if self.draws:
            # The largest of Gumbel-perturbed logs has the law p (Gumbel-max).
            leader_scores = scores + jr.gumbel(leader_key, scores.shape)
            challenger_scores = scores + jr.gumbel(challenger_key, scores.shape)
        arms = jnp.arange(scores.shape[0])
        leader = jnp.argmax(leader_scores)
        others = jnp.where(arms == leader, -jnp.inf, challenger_scores)
        challenger = jnp.argmax(others)
        first = jnp.where(jr.bernoulli(coin_key), leader, challenger)
        chosen = (arms == leader) | (arms == challenger)
        order = chosen.astype(scores.dtype) + (arms == first).astype(scores.dtype)
        return untried_first(order, seen)

    def best_probabilities(self, seen: Seen) -> Float[Array, "arms"]:
        """P(each arm is best) under the flat prior."""
        if isinstance(self.arms, BernoulliArms):
            return jnp.exp(
                bernoulli_best_arm_log_posterior(
                    1.0 + seen.sums,
                    1.0 + seen.counts - seen.sums,
                    num_panels=_NUM_PANELS,
                )
            )
        deviations = self.arms.noise / jnp.sqrt(jnp.maximum(seen.counts, 1.0))
        return flat_prior_best_arm(seen.means, deviations)


def make_ttps(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """Top-two probability sampling for a bandit."""
    return _make("ttps", family, False, threshold, scale)


def make_ttts(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        str, "heuristic: ln((1 + ln t) / delta), as in the paper; or valid"
    ] = "heuristic",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """Top-two Thompson sampling for a bandit."""
    return _make("ttts", family, True, threshold, scale)


def _make(
    name: str, family: AbstractTaskFamily, draws: bool, threshold: str, scale: float
) -> ArmsExplorer:
    arms = plain_arms_of(family)
    return ArmsExplorer(
        name,
        arms,
        TopTwoSampling(arms, draws),
        LikelihoodRatioStopping(arms, threshold, check_scale(scale)),
    )
