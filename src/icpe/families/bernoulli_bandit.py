"""Best-arm identification with successes and failures, such as an A/B/n test."""

import functools as ft
import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from scipy.special import betainc, betaincinv

from icpe.core.arrays import Index, PRNGKey
from icpe.core.belief import AbstractBelief
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    Difficulty,
    Limits,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.bandit.arms import BernoulliArms
from icpe.families.bandit.bounds import sample_tasks, time_bounds
from icpe.families.bandit.family import AbstractBandit, gap_difficulty
from icpe.families.bandit.rewards import Means, arm_names
from icpe.theory.bernoulli_best_arm import bernoulli_best_arm_log_posterior

_LOWEST_ACCEPTANCE = 1e-3
_LARGEST_PLAIN_BATCH = 100
"""Up to here a batch is drawn visitor by visitor, which is as fast as one binomial
draw and compiles in a third of the time."""


class BernoulliBandit(AbstractBandit):
    """Variants with unknown success rates; which has the largest?

    The rates are independent Beta(prior_successes, prior_failures) given that the best
    leads the second by at least `min_gap`. A query shows a variant to `batch_size`
    visitors; the outcome is the number of successes among them.

    Uniform rates are drawn by the exact conditional sampler of `gaussian-bandit`,
    others by rejection, which is exact too; the expected number of rounds is 1 over
    the probability of the gap, so a gap that is rarer than 1 in 1000 is refused.
    """

    num_arms: int = parameter(5, "number of variants K", at_least=2)
    batch_size: int = parameter(1, "visitors per query", at_least=1)
    min_gap: float = parameter(
        0.0, "smallest lead of the best rate over the second", at_least=0.0, at_most=1.0
    )
    prior_successes: float = parameter(
        1.0, "first parameter of the Beta prior", positive=True
    )
    prior_failures: float = parameter(
        1.0, "second parameter of the Beta prior", positive=True
    )
    horizon: int = parameter(100, "most queries in an episode", at_least=1)

    def __check_init__(self):
        check_ranges(self)
        if self.gap_probability < _LOWEST_ACCEPTANCE:
            raise InvalidParameterError(
                f"min_gap {self.min_gap} is met with probability "
                f"{self.gap_probability:.1e} under the prior; choose a gap that is met "
                f"with probability at least {_LOWEST_ACCEPTANCE}."
            )

    @property
    def gap_probability(self) -> float:
        """P(the best rate leads by `min_gap`) under independent Beta rates."""
        return _gap_probability(
            self.num_arms, self.min_gap, self.prior_successes, self.prior_failures
        )

    def in_words(self) -> str:
        each = "1 visitor" if self.batch_size == 1 else f"{self.batch_size} visitors"
        lead = f"; the best leads by at least {self.min_gap:g}" if self.min_gap else ""
        law = f"Beta({self.prior_successes:g}, {self.prior_failures:g})"
        return (
            f"{self.num_arms} variants with rates of success between 0 and 1, drawn "
            f"from {law}{lead}; a query shows one to {each}"
        )

    @property
    def spec(self) -> TaskSpec:
        """A query shows a variant to visitors; the hypotheses are the variants."""
        half = self.batch_size / 2
        single = self.batch_size == 1
        labels = (("success", (1.0,)), ("failure", (0.0,)))
        return TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon,
            outcome_shift=(half,),
            outcome_scale=(half,),
            query_names=arm_names(self.num_arms),
            hypothesis_names=arm_names(self.num_arms),
            outcome_names=("successes",),
            outcome_labels=labels if single else (),
            question="Show {query} to one visitor: success or failure?"
            if single
            else f"Show {{query}} to {self.batch_size} visitors: how many successes?",
            queries_alike=True,
            reveals=False,
            may_end=False,
        )

    def sample_task(self, *, key: PRNGKey) -> Means:
        if self.prior_successes == self.prior_failures == 1.0:
            rates = jr.uniform(key, (self.num_arms,), maxval=1.0 - self.min_gap)
            return rates.at[jnp.argmax(rates)].add(self.min_gap)
        if self.min_gap == 0.0:
            return self._propose(key)
        return self._reject(key)

    def _propose(self, key: PRNGKey) -> Means:
        shape = (self.num_arms,)
        return jr.beta(key, self.prior_successes, self.prior_failures, shape)

    def _reject(self, key: PRNGKey) -> Means:
        """Proposes until the gap is met."""

        def too_close(carry):
            _, rates = carry
            best_two = lax.top_k(rates, 2)[0]
            return best_two[0] - best_two[1] < self.min_gap

        def again(carry):
            key, next_key = jr.split(carry[0])
            return next_key, self._propose(key)

        return lax.while_loop(too_close, again, again((key, None)))[1]

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        """Counts the successes in a batch of visitors."""
        if self.batch_size > _LARGEST_PLAIN_BATCH:
            return plain_step(
                self.spec, jr.binomial(key, float(self.batch_size), task[query])[None]
            )
        visitors = jr.bernoulli(key, task[query], (self.batch_size,))
        return plain_step(self.spec, jnp.sum(visitors, dtype=jnp.float32)[None])

    def hypothesis(self, task: Means) -> Index:
        """The variant with the largest success rate."""
        return jnp.argmax(task)

    def exact_belief(self) -> "BernoulliBelief":
        return BernoulliBelief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """The characteristic time in queries, each of which shows a whole batch."""
        rates = sample_tasks(self, key)
        arms = self.arms()
        times = jax.vmap(lambda rates: arms.characteristic_time(rates).time)(rates)
        return time_bounds(times, error_prob, finite_mean=self.min_gap > 0)

    def task_difficulty(self) -> Difficulty:
        return gap_difficulty()

    def arms(self) -> BernoulliArms:
        return BernoulliArms(self.num_arms, self.batch_size)

    def check_means(self, means: Sequence[float]) -> None:
        for mean in means:
            if not 0.0 < mean < 1.0:
                raise InvalidParameterError(
                    "means are success rates and must lie strictly between 0 and 1; "
                    f"got {mean:g}."
                )

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"]:
        """At most sqrt(visitors) / 2."""
        largest = 0.5 * self.batch_size**0.5
        return jnp.full(self.num_arms, largest, first_outcome.dtype)


class SuccessCounts(eqx.Module):
    """Successes and failures of each arm."""

    successes: Float[Array, "arms"]
    failures: Float[Array, "arms"]


class BernoulliBelief(AbstractBelief):
    """Which Bernoulli arm is best, under Beta priors and the minimum gap."""

    family: BernoulliBandit

    def init(self, first_outcome: Float[Array, "outcome"]) -> SuccessCounts:
        nothing = jnp.zeros(self.family.num_arms, first_outcome.dtype)
        return SuccessCounts(nothing, nothing)

    def update(
        self, state: SuccessCounts, query: Index, outcome: Float[Array, "outcome"]
    ) -> SuccessCounts:
        shown = jnp.arange(self.family.num_arms) == query
        failed = self.family.batch_size - outcome[0]
        return SuccessCounts(
            state.successes + jnp.where(shown, outcome[0], 0.0),
            state.failures + jnp.where(shown, failed, 0.0),
        )

    def log_posterior(self, state: SuccessCounts) -> Float[Array, "hypotheses"]:
        return bernoulli_best_arm_log_posterior(
            self.family.prior_successes + state.successes,
            self.family.prior_failures + state.failures,
            self.family.min_gap,
            self._num_panels,
        )

    @property
    def _num_panels(self) -> int:
        """As `bernoulli_best_arm_log_posterior` says, for all visitors at one arm."""
        visitors = self.family.horizon * self.family.batch_size
        panels = min(max(16, math.ceil(32 * math.sqrt(visitors / 500))), 256)
        smallest = min(self.family.prior_successes, self.family.prior_failures)
        return panels if smallest >= 0.5 else 2 * panels


@ft.cache
def _gap_probability(size: int, gap: float, successes: float, failures: float) -> float:
    """K times the probability that one given arm leads all others by the gap.

    That is K * E[F(X - gap)^(K - 1)] for X with distribution function F; the mean is
    taken over the quantiles of X, by the midpoint rule.
    """
    levels = (np.arange(4096) + 0.5) / 4096
    behind = np.maximum(betaincinv(successes, failures, levels) - gap, 0.0)
    return float(size * np.mean(betainc(successes, failures, behind) ** (size - 1)))
