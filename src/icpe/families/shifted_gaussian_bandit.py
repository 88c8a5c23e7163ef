"""Gaussian bandits whose means come from another prior than the one trained on."""

import dataclasses
import functools as ft
from collections.abc import Sequence

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float
from scipy.special import digamma, gammaln

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least, check_between
from icpe.core.family import Difficulty, Limits, StepResult, parameter
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.families.bandit.arms import GaussianArms
from icpe.families.bandit.bounds import gaussian_bounds, sample_tasks
from icpe.families.bandit.family import AbstractBandit
from icpe.families.bandit.rewards import Means
from icpe.families.bandit.varying import UNUSED
from icpe.families.gaussian_bandit import GaussianBandit

_LARGEST_CONCENTRATION = 1e4


class ShiftedGaussianBandit(AbstractBandit):
    """A Gaussian bandit with means that are more evenly spaced than uniform ones.

    Sorted uniforms cut an interval into K + 1 spacings with the law Dirichlet(1..1).
    Here the spacings are Dirichlet(a..a), where a >= 1 solves

        KL(Dirichlet(a..a) || Dirichlet(1..1)) = shift_kl,

    the arms are shuffled and `min_gap` is added to the largest mean. With shift_kl 0
    this is exactly `gaussian-bandit`. The spec is that of `gaussian-bandit` with the
    same parameters, so an explorer that was trained there can be evaluated here; with
    `among`, that of the bandit with `vary_arms` and at most so many arms.
    """

    num_arms: int = parameter(10, "number of arms K")
    shift_kl: float = parameter(1.0, "divergence of the spacings from uniform ones")
    min_gap: float = parameter(0.4, "smallest lead of the best arm over the second")
    noise: float = parameter(0.5, "standard deviation of a reward")
    max_mean: float = parameter(
        0.0, "largest possible mean; 0 means 0.4 * num_arms", rare=True
    )
    horizon: int = parameter(100, "most queries in an episode")
    among: int = parameter(
        0, "largest number of arms of an explorer for any number; 0: none", rare=True
    )

    def __check_init__(self):
        if self.among:
            check_at_least("among", self.among, self.num_arms)
        _ = self.plain  # whose parameters are checked there
        most = _spacing_divergence(_LARGEST_CONCENTRATION, self.num_arms + 1)
        check_between("shift_kl", self.shift_kl, 0.0, round(most, 3))

    @property
    def plain(self) -> GaussianBandit:
        """The bandit without the shift, which fixes everything but the prior."""
        plain = GaussianBandit(
            num_arms=self.num_arms,
            min_gap=self.min_gap,
            noise=self.noise,
            max_mean=self.max_mean,
            horizon=self.horizon,
        )
        if not self.among:
            return plain
        return dataclasses.replace(
            plain,
            num_arms=self.among,
            vary_arms=True,
            fewest_arms=self.num_arms,
            most_arms=self.num_arms,
        )

    @property
    def concentration(self) -> float:
        """The parameter a of the Dirichlet law of the spacings."""
        return _solve_concentration(self.shift_kl, self.num_arms + 1)

    @property
    def spec(self) -> TaskSpec:
        """That of the Gaussian bandit."""
        return self.plain.spec

    def sample_task(self, *, key: PRNGKey) -> Means:
        """Draws spacings, cuts the interval by them, and shuffles the arms."""
        spacing_key, order_key = jr.split(key)
        alpha = jnp.full(self.num_arms + 1, self.concentration)
        spacings = jr.dirichlet(spacing_key, alpha)
        mean_range = self.max_mean or 0.4 * self.num_arms
        cuts = jnp.cumsum(spacings[:-1]) * (mean_range - self.min_gap)
        means = jr.permutation(order_key, cuts.at[-1].add(self.min_gap))
        missing = max(0, self.among - self.num_arms)
        return jnp.append(means, jnp.full(missing, UNUSED))

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the number of arms where it could be another."""
        return self.plain.reset(task, key=key)

    def step(
        self, state: None, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        return self.plain.step(state, query, task, key=key)

    def hypothesis(self, task: Means) -> Index:
        return self.plain.hypothesis(task)

    def query_mask(
        self, first_outcome: Float[Array, "outcome"], history: History
    ) -> Bool[Array, "queries"]:
        return self.plain.query_mask(first_outcome, history)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """Bounds for methods that are correct on every task."""
        # Top gaps of nearly 0 are so rare only if spacings are Dirichlet with a > 2.
        return gaussian_bounds(
            sample_tasks(self, key),
            error_prob,
            noise=self.noise,
            min_gap=self.min_gap,
            finite_mean=self.min_gap > 0 or self.concentration > 2,
        )

    def task_difficulty(self) -> Difficulty:
        return self.plain.task_difficulty()

    def arms(self) -> GaussianArms:
        return self.plain.arms()

    def check_means(self, means: Sequence[float]) -> None:
        self.plain.check_means(means)

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"]:
        return self.plain.reward_noise(first_outcome)


def _spacing_divergence(concentration: float, size: int) -> float:
    """KL(Dirichlet(a..a) || Dirichlet(1..1)) in `size` dimensions, in closed form."""
    total = size * concentration
    return float(
        gammaln(total)
        - size * gammaln(concentration)
        - gammaln(size)
        + size * (concentration - 1) * (digamma(concentration) - digamma(total))
    )


@ft.cache
def _solve_concentration(divergence: float, size: int) -> float:
    """The a >= 1 with the given divergence, which grows with a; by bisection."""
    if divergence == 0.0:
        return 1.0
    low, high = 1.0, 2 * _LARGEST_CONCENTRATION
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        if _spacing_divergence(middle, size) < divergence:
            low = middle
        else:
            high = middle
    return low
