"""Which of several settings is best, in units of the difference that matters."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, PRNGKey, Scalar
from icpe.core.belief import AbstractBelief
from icpe.core.checks import check_at_least, check_positive
from icpe.core.errors import InvalidParameterError
from icpe.core.family import (
    AbstractTaskFamily,
    Difficulty,
    StepResult,
    check_ranges,
    parameter,
)
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.core.units import AnyUnits
from icpe.theory.best_setting import (
    Noises,
    Outcomes,
    best_setting_log_posterior,
    one_noise,
    possible_noises,
)

GRID = 1024.0
"""Outcomes are multiples of 1 / GRID, whatever units they were measured in."""


class Settings(NamedTuple):
    """One problem: the lag of each setting behind the best, which has 0.

    Settings that the problem does not have lag by infinity; `told` says whether the
    noise is known.
    """

    lags: Float[Array, "settings"]
    noise: Scalar
    told: Flag


class FirstAnswer(NamedTuple):
    """The outcome that all are compared with, once there is one."""

    given: Flag
    value: Scalar


class BestOfK(AbstractTaskFamily):
    """Settings with a noisy outcome each; which is best by at least what matters?

    All is in units of the smallest difference that matters, and outcomes are relative
    to the first one, so that neither the user's units nor an offset common to all
    settings changes anything. The number of settings, and the noise where it is known,
    are revealed at reset; a noise of 0 stands for one that is not known. The best
    setting leads by 1; each other one falls behind by an excess more, which is
    exponential with a scale drawn from `scales`.
    """

    most_settings: int = parameter(16, "largest number of settings")
    fewest_settings: int = parameter(2, "smallest number of settings", at_least=2)
    least_noise: float = parameter(
        0.25, "smallest noise, in units of what matters", positive=True
    )
    most_noise: float = parameter(
        2.0, "largest noise, in units of what matters", positive=True
    )
    noise_told: float = parameter(
        0.5, "probability that the noise is known", at_least=0.0, at_most=1.0
    )
    scales: tuple[float, ...] = parameter(
        (1.0, 4.0),
        "scales of the excess of the other settings",
        rare=True,
        converter=tuple,
    )
    horizon: int = parameter(96, "most queries in an episode", at_least=1)

    def __check_init__(self):
        check_ranges(self)
        check_at_least("most_settings", self.most_settings, self.fewest_settings)
        check_at_least("most_noise", self.most_noise, self.least_noise)
        if not self.scales:
            raise InvalidParameterError("scales must have one entry or more; got none.")
        for scale in self.scales:
            check_positive("scales", scale)

    def in_words(self) -> str:
        return (
            f"{self.fewest_settings} to {self.most_settings} settings at any level; "
            "the best leads by at least the difference that matters, and the noise is "
            f"{self.least_noise:g} to {self.most_noise:g} times that difference"
        )

    @property
    def spec(self) -> TaskSpec:
        names = tuple(f"setting {i + 1}" for i in range(self.most_settings))
        return TaskSpec(
            num_queries=self.most_settings,
            num_hypotheses=self.most_settings,
            outcome_size=3,
            horizon=self.horizon,
            outcome_shift=(0.0, 0.0, 0.0),
            outcome_scale=(4.0, float(self.most_settings), self.most_noise),
            masks_queries=True,
            query_names=names,
            hypothesis_names=names,
            outcome_names=("outcome", "number of settings", "noise"),
            question="Try {query}: what is the outcome, less the first one?",
            queries_alike=True,
            reveals=True,
            reset_entries=(1, 2),
            may_end=False,
        )

    def sample_task(self, *, key: PRNGKey) -> Settings:
        keys = jr.split(key, 6)
        size = self.most_settings
        number = jr.randint(keys[0], (), self.fewest_settings, size + 1)
        best = jr.randint(keys[1], (), 0, number)
        scale = jr.choice(keys[2], jnp.asarray(self.scales), (size,))
        lags = 1.0 + scale * jr.exponential(keys[3], (size,))
        setting = jnp.arange(size)
        lags = jnp.where(setting == best, 0.0, lags)
        noise = jnp.exp(
            jr.uniform(
                keys[4],
                minval=jnp.log(self.least_noise),
                maxval=jnp.log(self.most_noise),
            )
        )
        told = jr.uniform(keys[5]) < self.noise_told
        return Settings(jnp.where(setting < number, lags, jnp.inf), noise, told)

    def reset(self, task: Settings, *, key: PRNGKey) -> StepResult:
        """Reveals how many settings there are, and the noise where it is known."""
        number = jnp.sum(jnp.isfinite(task.lags)).astype(jnp.float32)
        noise = jnp.where(task.told, task.noise, 0.0)
        nothing_yet = FirstAnswer(jnp.asarray(False), jnp.zeros(()))
        return StepResult(
            nothing_yet,
            jnp.stack([jnp.zeros(()), number, noise]),
            jnp.isfinite(task.lags),
            jnp.asarray(False),
        )

    def step(
        self, state: FirstAnswer, query: Index, task: Settings, *, key: PRNGKey
    ) -> StepResult:
        """The outcome less the first one, on the grid."""
        exists = jnp.isfinite(task.lags)
        mean = -jnp.where(exists, task.lags, 0.0)[query]
        value = mean + task.noise * jr.normal(key)
        first = jnp.where(state.given, state.value, value)
        relative = jnp.round((value - first) * GRID) / GRID
        return StepResult(
            FirstAnswer(jnp.asarray(True), first),
            jnp.stack([relative, jnp.zeros(()), jnp.zeros(())]),
            exists,
            jnp.asarray(False),
        )

    def hypothesis(self, task: Settings) -> Index:
        return jnp.argmin(task.lags)

    def query_mask(
        self, first_outcome: Float[Array, "outcome"], history: History
    ) -> Bool[Array, "queries"]:
        return self.existing(first_outcome)

    def existing(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Bool[Array, "settings"]:
        """The settings that there are."""
        numbers = jnp.arange(self.most_settings, dtype=first_outcome.dtype)
        return numbers < first_outcome[1]

    def exact_belief(self) -> "BestOfKBelief":
        return BestOfKBelief(self)

    def any_units(self) -> AnyUnits:
        return AnyUnits(
            self.fewest_settings,
            self.most_settings,
            self.least_noise,
            self.most_noise,
            GRID,
        )

    def task_difficulty(self) -> Difficulty:
        return Difficulty("noise, in units of what matters", lambda task: task.noise)


class BestOfKState(eqx.Module):
    """Outcomes of each setting, which settings there are, and the noise, 0 unknown."""

    seen: Outcomes
    exists: Bool[Array, "settings"]
    noise: Scalar


class BestOfKBelief(AbstractBelief):
    """Which setting is best, by quadrature."""

    family: BestOfK

    def init(self, first_outcome: Float[Array, "outcome"]) -> BestOfKState:
        size = self.family.most_settings
        zeros = jnp.zeros(size, first_outcome.dtype)
        seen = Outcomes(jnp.zeros(size, jnp.int32), zeros, zeros)
        return BestOfKState(seen, self.family.existing(first_outcome), first_outcome[2])

    def update(
        self, state: BestOfKState, query: Index, outcome: Float[Array, "outcome"]
    ) -> BestOfKState:
        """By Welford's recursion."""
        seen = state.seen
        now = jnp.arange(self.family.most_settings) == query
        counts = seen.counts + now.astype(jnp.int32)
        away = outcome[0] - seen.means
        divisor = jnp.maximum(counts, 1).astype(away.dtype)
        step = jnp.where(now, away / divisor, 0.0)
        means = seen.means + step
        squares = seen.squares + jnp.where(now, away * (outcome[0] - means), 0.0)
        return BestOfKState(Outcomes(counts, means, squares), state.exists, state.noise)

    def log_posterior(self, state: BestOfKState) -> Float[Array, "hypotheses"]:
        return best_setting_log_posterior(
            state.seen, state.exists, self._noises(state), scales=self.family.scales
        )

    def _noises(self, state: BestOfKState) -> Noises:
        family = self.family
        known = one_noise(jnp.maximum(state.noise, 1e-6))
        unknown = possible_noises(state.seen, family.least_noise, family.most_noise)
        is_known = state.noise > 0
        return jax.tree.map(lambda a, b: jnp.where(is_known, a, b), known, unknown)
