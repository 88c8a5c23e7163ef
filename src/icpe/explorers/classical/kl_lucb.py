"""KL-LUCB: LUCB with the confidence intervals that suit Bernoulli rewards."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from icpe.core.arrays import Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    ArmsExplorer,
    Scale,
    check_scale,
    check_threshold_name,
    scaled,
)
from icpe.explorers.classical.lucb import (
    AbstractIntervals,
    Intervals,
    exploration_rate,
    lucb_explorer,
)
from icpe.explorers.classical.served import arms_of
from icpe.families.bandit.arms import BernoulliArms, Seen
from icpe.theory.divergences import kl_bernoulli
from icpe.theory.thresholds import kl_lucb_rate

_NUM_BISECTIONS = 24


class KlIntervals(AbstractIntervals):
    """KL-LUCB: the rates q with n kl(sample rate, q) <= rate, by bisection.

    Kaufmann and Kalyanakrishnan 2013, "Information complexity in bandit subset
    selection". Bounds are rounded outwards, so that they stay valid.
    """

    arms: BernoulliArms
    threshold: str = eqx.field(static=True)
    scale: Scalar | float = 1.0

    def __check_init__(self):
        check_threshold_name(self.threshold)

    def at(self, seen: Seen, error_prob: Scalar) -> Intervals:
        """Never outside [0, 1]."""
        rate = exploration_rate(
            kl_lucb_rate, self.threshold, self.arms, seen, error_prob
        )
        rate = scaled(rate, self.scale)
        level = rate / jnp.maximum(seen.counts, 1.0)
        low = _kl_bound(seen.means, level, jnp.zeros_like(seen.means))
        high = _kl_bound(seen.means, level, jnp.ones_like(seen.means))
        return Intervals(
            jnp.where(seen.is_seen, low, -jnp.inf),
            jnp.where(seen.is_seen, high, jnp.inf),
        )


def _kl_bound(
    means: Float[Array, "arms"], level: Float[Array, "arms"], end: Float[Array, "arms"]
) -> Float[Array, "arms"]:
    """The point between the mean and the end where kl(mean, .) reaches the level."""

    def halve(_, bracket):
        inner, outer = bracket
        middle = (inner + outer) / 2
        inside = kl_bernoulli(means, middle) <= level
        return jnp.where(inside, middle, inner), jnp.where(inside, outer, middle)

    return lax.fori_loop(0, _NUM_BISECTIONS, halve, (means, end))[1]


def make_kl_lucb(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        str,
        "exploration rate: valid, ln(2 K t^2 / delta), or heuristic, "
        "ln((1 + ln t) / delta)",
    ] = "valid",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """KL-LUCB for a Bernoulli bandit."""
    arms = arms_of(family)
    assert isinstance(arms, BernoulliArms)
    return lucb_explorer(
        "kl-lucb", arms, KlIntervals(arms, threshold, check_scale(scale))
    )
