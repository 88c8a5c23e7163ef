"""LUCB: pull both the leader and the rival whose upper bound is highest.

Each arm has a confidence interval. In each round the leader h (the largest sample
mean) and the challenger l (the largest upper bound among the others) are pulled once
each; it stops when the lower bound of h is not below the upper bound of l. With a
valid exploration rate the answer is wrong with probability at most delta on every
task, since the bounds that matter hold at all times with probability 1 - delta.
"""

import abc
from collections.abc import Callable
from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from icpe.core.arrays import Flag, Index, PRNGKey, Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.explorers.classical.arms_explorer import (
    PREFERRED,
    AbstractSamplingRule,
    AbstractStoppingRule,
    ArmsExplorer,
    Scale,
    check_scale,
    check_threshold_name,
    scaled,
    untried_first,
)
from icpe.explorers.classical.served import plain_arms_of
from icpe.families.bandit.arms import AbstractArms, BernoulliArms, PlainArms, Seen
from icpe.theory.thresholds import heuristic_threshold, lucb_rate


class Intervals(eqx.Module):
    """A confidence interval for the mean of each arm."""

    low: Float[Array, "arms"]
    high: Float[Array, "arms"]

    def challenger(self, leader: Index) -> Index:
        """The rival with the largest upper bound."""
        is_leader = jnp.arange(self.high.shape[0]) == leader
        return jnp.argmax(jnp.where(is_leader, -jnp.inf, self.high))


class AbstractIntervals(eqx.Module):
    """How confidence intervals are made."""

    @abc.abstractmethod
    def at(self, seen: Seen, error_prob: Scalar) -> Intervals:
        """The intervals of all arms; infinite for an arm that was never seen."""


class HoeffdingIntervals(AbstractIntervals):
    """LUCB1: mean +- sqrt(2 s^2 rate / n), s = 1/2 for rewards in [0, 1].

    Kalyanakrishnan, Tewari, Auer and Stone 2012, "PAC subset selection in stochastic
    multi-armed bandits".
    """

    arms: PlainArms
    threshold: str = eqx.field(static=True)
    scale: Scalar | float = 1.0

    def __check_init__(self):
        check_threshold_name(self.threshold)

    def at(self, seen: Seen, error_prob: Scalar) -> Intervals:
        """Symmetric around the sample means."""
        rate = exploration_rate(lucb_rate, self.threshold, self.arms, seen, error_prob)
        rate = scaled(rate, self.scale)
        noise = 0.5 if isinstance(self.arms, BernoulliArms) else self.arms.noise
        width = noise * jnp.sqrt(2.0 * rate / jnp.maximum(seen.counts, 1.0))
        width = jnp.where(seen.is_seen, width, jnp.inf)
        return Intervals(seen.means - width, seen.means + width)


def exploration_rate(
    valid: Callable[[Scalar, int, Scalar], Scalar],
    threshold: str,
    arms: AbstractArms,
    seen: Seen,
    error_prob: Scalar,
) -> Scalar:
    """The valid rate, or ln((1 + ln t) / delta) where a heuristic is asked for."""
    time = arms.time(seen)
    if threshold == "valid":
        return valid(time, arms.num_arms, error_prob)
    return heuristic_threshold(time, error_prob)


class LucbMemory(eqx.Module):
    """The arm to pull, the one after it in this round or -1, and delta."""

    first: Index
    second: Index
    error_prob: Scalar


class LucbSampling(AbstractSamplingRule):
    """Pulls the leader, then the challenger that was chosen with it."""

    intervals: AbstractIntervals

    def init(self, seen: Seen, error_prob: Scalar | None) -> LucbMemory:
        """Each arm is pulled once before the first round."""
        assert error_prob is not None
        nobody = jnp.asarray(-1, jnp.int32)
        return LucbMemory(nobody, nobody, error_prob)

    def update(
        self,
        memory: LucbMemory,
        seen: Seen,
        query: Index,
        outcome: Float[Array, "outcome"],
    ) -> LucbMemory:
        """The challenger's turn, or a new round."""
        leader = seen.leader.astype(jnp.int32)
        bounds = self.intervals.at(seen, memory.error_prob)
        challenger = bounds.challenger(leader).astype(jnp.int32)
        waits = memory.second >= 0
        begins = ~waits & jnp.all(seen.is_seen)
        return LucbMemory(
            jnp.where(waits, memory.second, leader),
            jnp.where(begins, challenger, -1),
            memory.error_prob,
        )

    def preferences(
        self, memory: LucbMemory, seen: Seen, *, key: PRNGKey
    ) -> Float[Array, "queries"]:
        """The arm whose turn it is; then by upper bounds."""
        bounds = self.intervals.at(seen, memory.error_prob)
        is_next = jnp.arange(seen.sums.shape[0]) == memory.first
        return untried_first(jnp.where(is_next, PREFERRED, bounds.high), seen)


class SeparationStopping(AbstractStoppingRule):
    """Stops when the leader's interval lies above all others."""

    intervals: AbstractIntervals

    def is_sure(self, seen: Seen, error_prob: Scalar) -> Flag:
        """Whether the leader's lower bound is not below any upper bound."""
        bounds = self.intervals.at(seen, error_prob)
        leader = seen.leader
        return bounds.low[leader] >= bounds.high[bounds.challenger(leader)]


def make_lucb(
    family: AbstractTaskFamily,
    *,
    threshold: Annotated[
        str,
        "exploration rate: valid, ln(5 K t^4 / (4 delta)), or heuristic, "
        "ln((1 + ln t) / delta)",
    ] = "valid",
    scale: Scale = 1.0,
) -> ArmsExplorer:
    """LUCB1 for a bandit."""
    arms = plain_arms_of(family)
    return lucb_explorer(
        "lucb", arms, HoeffdingIntervals(arms, threshold, check_scale(scale))
    )


def lucb_explorer(
    name: str, arms: AbstractArms, intervals: AbstractIntervals
) -> ArmsExplorer:
    """LUCB with any confidence intervals."""
    return ArmsExplorer(
        name,
        arms,
        LucbSampling(intervals),
        SeparationStopping(intervals),
        serves_budgets=False,
    )
