"""Where looking one step ahead fails: the paper's two examples, as a table.

Information-directed sampling makes the query that is expected to tell most. In the
two-pull bandit and in the chain of two magic arms that query is not arm 0, although
arm 0 leads to certainty in two pulls (the paper, appendix "Comparison with Information
Directed Sampling").
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax.random as jr
import numpy as np

from icpe.core.checks import check_at_least
from icpe.core.errors import OperatingPointError
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.families.magic_chain import MagicChain
from icpe.families.two_pull_bandit import TwoPullBandit
from icpe.play.rollout import rollout_chunks
from icpe.theory.information_directed import (
    FirstGains,
    chain_first_gains,
    chain_truncated_queries,
    two_pull_first_gains,
    two_pull_queries_without_arm_zero,
)

OPTIMUM = 2
"""Pulls that lead to certainty in all examples: arm 0 twice, or arm 0 and what it
names."""

FEWEST_ARMS = 4


class Simulated(NamedTuple):
    """What the explorer `information-gain` did in simulated episodes.

    `starts_with_arm_zero` is the share of episodes whose first query is arm 0.
    """

    mean_queries: float
    standard_error: float
    accuracy: float
    starts_with_arm_zero: float


class MyopicRow(NamedTuple):
    """Information-directed sampling on one example.

    Attributes:
        example: "two-pull-bandit", "two-link-chain" (magic arms without noise, regular
            rewards with noise 1) or "magic-chain" (nothing is noisy).
        num_arms: number K of arms.
        gain_arm_zero: expected information, in nats, of arm 0 as the first query;
            None where it was not computed.
        gain_other_arm: that of any other arm.
        least_mean_queries: its mean number of queries is at least this.
        simulated: the same measured, None if it was not asked for.
    """

    example: str
    num_arms: int
    gain_arm_zero: float | None
    gain_other_arm: float | None
    least_mean_queries: float | None
    simulated: Simulated | None

    @property
    def starts_with_arm_zero(self) -> bool | None:
        """Whether its first query is arm 0."""
        if self.gain_arm_zero is None or self.gain_other_arm is None:
            return None
        return self.gain_arm_zero >= self.gain_other_arm


def myopic_rows(
    num_arms: Sequence[int], error_prob: float, *, episodes: int = 0, seed: int = 0
) -> Iterator[MyopicRow]:
    """The examples for each number of arms; with `episodes`, simulated too.

    Args:
        num_arms: the numbers of arms, each at least 4.
        error_prob: the error probability at which it stops.
        episodes: how many to simulate for the families that are simulated.
        seed: of the simulation.

    Raises:
        InvalidParameterError: a number of arms is too small.
        OperatingPointError: error_prob does not lie strictly between 0 and 1.
    """
    if not 0.0 < error_prob < 1.0:
        raise OperatingPointError(
            f"error_prob must lie strictly between 0 and 1; got {error_prob}."
        )
    for size in num_arms:
        check_at_least("num_arms", size, FEWEST_ARMS)
    for size in num_arms:
        simulated = None
        if episodes:
            simulated = _simulate(TwoPullBandit(size), error_prob, episodes, seed)
        least = two_pull_queries_without_arm_zero(size, error_prob)
        yield _row(
            "two-pull-bandit", size, two_pull_first_gains(size), least, simulated
        )
    for size in num_arms:
        least = chain_truncated_queries(size, error_prob)
        yield _row("two-link-chain", size, chain_first_gains(size), least, None)
    for size in num_arms if episodes else ():
        simulated = _simulate(MagicChain(size), error_prob, episodes, seed)
        yield MyopicRow("magic-chain", size, None, None, None, simulated)


def _row(
    example: str,
    size: int,
    gains: FirstGains,
    least: float,
    simulated: Simulated | None,
) -> MyopicRow:
    return MyopicRow(example, size, gains.arm_zero, gains.fresh, least, simulated)


def _simulate(
    family: AbstractTaskFamily, error_prob: float, episodes: int, seed: int
) -> Simulated:
    explorer = make_explorer("information-gain", family)
    point = OperatingPoint.at(family.spec.horizon, error_prob=error_prob)
    chunks = list(rollout_chunks(explorer, family, point, episodes, key=jr.key(seed)))
    queries = np.concatenate([chunk.ending.num_queries for chunk in chunks])
    first = np.concatenate([chunk.history.queries[:, 0] for chunk in chunks])
    correct = np.concatenate([chunk.ending.correct for chunk in chunks])
    error = queries.std(ddof=1) / np.sqrt(queries.size) if queries.size > 1 else np.inf
    return Simulated(
        float(queries.mean()),
        float(error),
        float(correct.mean()),
        float(np.mean(first == 0)),
    )
