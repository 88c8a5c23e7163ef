"""Which queries an explorer makes, and when: allocation, entropy, Track-and-Stop.

The explorer may be deterministic; over random trajectories its choices are spread, and
the average over them is a policy. In one environment it can be compared with the
proportions that Track-and-Stop would track (the paper's statistics of a policy).
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from icpe.artifact.serving import Contender, serve
from icpe.core.arrays import PyTree
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.request import Request
from icpe.families.bandit.varying import numbers_of_arms
from icpe.families.deterministic_bandit import DeterministicBandit
from icpe.families.gaussian_bandit import GaussianBandit
from icpe.play.rollout import rollout_chunks
from icpe.studies.statistics.tasks import play_tasks, sample_tasks
from icpe.theory.characteristic_time import gaussian_characteristic_time

Proportions = Callable[[Float[Array, "arms"]], Float[Array, "arms"]]
"""From empirical means to proportions of queries."""


@dataclasses.dataclass(frozen=True)
class Allocation:
    """`counts[t, a]` episodes made query a after t others; counts add up."""

    counts: Int[np.ndarray, "steps queries"]

    @staticmethod
    def of(
        queries: Int[np.ndarray, "episodes steps"], num_queries: int
    ) -> "Allocation":
        """Counts the queries of some episodes; negative ones were not made."""
        is_query = queries[:, :, None] == np.arange(num_queries)
        return Allocation(is_query.sum(axis=0))

    def __add__(self, other: "Allocation") -> "Allocation":
        return Allocation(self.counts + other.counts)

    @property
    def fractions(self) -> Float[np.ndarray, "queries"]:
        """The share of every query in all that were made."""
        return self.counts.sum(axis=0) / max(1, self.counts.sum())

    @property
    def running(self) -> Int[np.ndarray, "steps"]:
        """Episodes that made a query at each step."""
        return self.counts.sum(axis=1)

    @property
    def policy(self) -> Float[np.ndarray, "steps queries"]:
        """Share of each query at each step; NaN where no episode is left."""
        running = self.running[:, None]
        shares = self.counts / np.maximum(running, 1)
        return np.where(running > 0, shares, np.nan)

    @property
    def entropy(self) -> Float[np.ndarray, "steps"]:
        """Entropy of the policy at each step, in nats; NaN where none is left."""
        policy = self.policy
        logs = np.log(np.where(policy > 0, policy, 1.0))
        return -np.sum(policy * logs, axis=1)

    def quantile(self, probability: float) -> Float[np.ndarray, "steps"]:
        """Quantile over the queries of their shares, at each step; 1 is the largest."""
        return np.quantile(self.policy, probability, axis=1)

    def total_variation(
        self, other: Float[np.ndarray, "steps queries"]
    ) -> Float[np.ndarray, "steps"]:
        """Distance of the policy from another at each step, between 0 and 1."""
        return np.abs(self.policy - other).sum(axis=1) / 2


@dataclasses.dataclass(frozen=True)
class PolicyStatistics:
    """An explorer in one environment, beside the proportions of Track-and-Stop.

    Attributes:
        allocation: its queries over all trajectories, step by step.
        tracked: the proportions to be tracked given what was seen, averaged over the
            trajectories still running; NaN where none is left.
    """

    allocation: Allocation
    tracked: Float[np.ndarray, "steps queries"]

    @property
    def total_variation(self) -> Float[np.ndarray, "steps"]:
        """Distance of the average policy from what would be tracked."""
        return self.allocation.total_variation(self.tracked)


def measure_allocation(
    contender: Contender,
    family: AbstractTaskFamily,
    request: Request,
    *,
    episodes: int = 10_000,
    seed: int = 0,
) -> Allocation:
    """Plays fresh episodes and counts their queries by kind and time.

    Raises:
        OperatingPointError: the request is malformed, or cannot be served.
    """
    player = serve(contender, request, family)
    total = None
    for chunk in rollout_chunks(
        player.explorer, family, player.operating_point, episodes, key=jr.key(seed)
    ):
        queries = np.asarray(chunk.history.queries)
        part = Allocation.of(queries, family.spec.num_queries)
        total = part if total is None else total + part
    assert total is not None
    return total


def optimal_proportions(means: Float[Array, "arms"]) -> Float[Array, "arms"]:
    """w* of Gaussian arms, which Track-and-Stop tracks (any common noise)."""
    return gaussian_characteristic_time(means, 1.0).proportions


def inverse_gap_proportions(means: Float[Array, "arms"]) -> Float[Array, "arms"]:
    """The paper's approximation: w_a proportional to 1 / gap_a.

    The gap of the best arm is taken to be the smallest of the others ("Does ICPE
    resemble Track and Stop?" in its appendix).
    """
    is_best = jnp.arange(means.shape[0]) == jnp.argmax(means)
    gaps = jnp.max(means) - means
    smallest = jnp.min(jnp.where(is_best, jnp.inf, gaps))
    inverse = 1.0 / jnp.maximum(jnp.where(is_best, smallest, gaps), 1e-6)
    return inverse / jnp.sum(inverse)


def policy_statistics(
    contender: Contender,
    family: AbstractTaskFamily,
    request: Request,
    *,
    task: PyTree | None = None,
    trajectories: int = 100,
    proportions: Proportions = optimal_proportions,
    seed: int = 0,
) -> PolicyStatistics:
    """Plays one environment many times and compares the queries with Track-and-Stop.

    Track-and-Stop first pulls every arm once, so while an arm is untried the
    proportions are uniform over the untried ones; afterwards they are those of the
    empirical means.

    Args:
        contender: the explorer.
        family: a bandit: one number per outcome, one hypothesis per query. One that
            reveals its number of arms may do so if all arms are there.
        request: what is asked of the explorer.
        task: the environment; drawn by the seed if None.
        trajectories: number of episodes.
        proportions: what would be tracked at given means.
        seed: seed of environment and noise.

    Raises:
        UnsupportedError: the family is no bandit.
        OperatingPointError: the request is malformed, or cannot be served.
    """
    spec = family.spec
    size = spec.outcome_size - _reveals_that_all_arms_are_there(family)
    if size != 1 or spec.num_queries != spec.num_hypotheses:
        raise UnsupportedError(
            "Policy statistics need a bandit, with one number per outcome and one "
            f"hypothesis per query; got {spec.outcome_size} numbers, "
            f"{spec.num_queries} queries and {spec.num_hypotheses} hypotheses."
        )
    task_key, play_key = jr.split(jr.key(seed))
    tasks = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], task)
    if task is None:
        tasks = sample_tasks(family, 1, key=task_key)
    player = serve(contender, request, family)
    chunks = list(play_tasks(player, family, tasks, trajectories, key=play_key))
    history = jax.tree.map(
        lambda *leaves: np.concatenate(leaves), *(chunk.history for chunk in chunks)
    )
    allocation = Allocation.of(history.queries, spec.num_queries)
    return PolicyStatistics(
        allocation, _tracked(history, spec.num_queries, proportions)
    )


def _reveals_that_all_arms_are_there(family: AbstractTaskFamily) -> bool:
    if not isinstance(family, GaussianBandit | DeterministicBandit):
        return False
    return family.vary_arms and numbers_of_arms(family)[0] == family.num_arms


def _tracked(
    history: History, num_arms: int, proportions: Proportions
) -> Float[np.ndarray, "steps queries"]:
    one_hot = np.asarray(history.queries)[:, :, None] == np.arange(num_arms)
    rewards = np.asarray(history.outcomes)[:, 1:, :1]
    before = np.cumsum(one_hot, axis=1) - one_hot
    sums = np.cumsum(one_hot * rewards, axis=1) - one_hot * rewards
    means = jnp.asarray(sums / np.maximum(before, 1), jnp.float32)
    tracked = np.asarray(jax.jit(jax.vmap(jax.vmap(proportions)))(means))
    untried = before == 0
    some_untried = untried.any(axis=2, keepdims=True)
    forced = untried / np.maximum(untried.sum(axis=2, keepdims=True), 1)
    target = np.where(some_untried, forced, tracked)
    running = one_hot.any(axis=2)[:, :, None]
    total = np.sum(np.where(running, target, 0.0), axis=0)
    number = running.sum(axis=0)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
