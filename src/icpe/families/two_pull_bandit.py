"""A bandit whose law changes: the second pull of one arm tells everything."""

import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax.scipy.special import entr
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.family import (
    AbstractTaskFamily,
    Limits,
    StepResult,
    parameter,
    plain_step,
)
from icpe.core.spec import TaskSpec
from icpe.families.bandit.rewards import Means, RewardSums, arm_names
from icpe.theory.gaussian_gap import best_arm_log_posterior
from icpe.theory.gaussian_gap_gains import best_arm_information_gains, rewards_needed
from icpe.theory.information_directed import two_pull_queries_without_arm_zero

_NUM_NODES = 24


class TwoPullBandit(AbstractTaskFamily):
    """Arm 0 seems useless, but from its second pull on it points to the best arm.

    The means of arms 1..K-1 are uniform on [0, 1] and that of arm 0 is 0; rewards are
    normal. The second and later rewards of arm 0 are phi(best) without noise, where
    phi of the i-th arm, counted from 1, is i / K. The first pull of arm 0 carries no
    information at all, so a rule that looks one step ahead never makes it, while two
    pulls of arm 0 always suffice (the first example of the paper on the weakness of
    information-directed sampling). Arm 0 is never the answer.
    """

    num_arms: int = parameter(10, "number of arms K, arm 0 included", at_least=3)
    noise: float = parameter(1.0, "standard deviation of a reward", positive=True)
    horizon: int = parameter(100, "most queries in an episode", at_least=1)

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon,
            outcome_shift=(0.5,),
            outcome_scale=(0.5,),
            query_names=arm_names(self.num_arms),
            hypothesis_names=arm_names(self.num_arms),
            outcome_names=("reward",),
            question="Pull {query}: what is the reward?",
            reveals=False,
            may_end=False,
        )

    def sample_task(self, *, key: PRNGKey) -> Means:
        """Draws the means; that of arm 0 is 0."""
        return jr.uniform(key, (self.num_arms,)).at[0].set(0.0)

    def reset(self, task: Means, *, key: PRNGKey) -> StepResult:
        """Reveals nothing; the state is the number of pulls of arm 0."""
        return self._result(jnp.zeros((), jnp.int32), jnp.zeros(1))

    def step(
        self, state: Index, query: Index, task: Means, *, key: PRNGKey
    ) -> StepResult:
        pulls = state + (query == 0).astype(jnp.int32)
        pointer = (self.hypothesis(task) + 1).astype(jnp.float32) / self.num_arms
        reward = task[query] + self.noise * jr.normal(key)
        reward = jnp.where((query == 0) & (pulls >= 2), pointer, reward)
        return self._result(pulls, reward[None])

    def _result(self, pulls: Index, outcome) -> StepResult:
        plain = plain_step(self.spec, outcome)
        return StepResult(pulls, outcome, plain.query_mask, plain.terminated)

    def hypothesis(self, task: Means) -> Index:
        """The best arm, which is never arm 0."""
        return 1 + jnp.argmax(task[1:])

    def exact_belief(self) -> "TwoPullBelief":
        return TwoPullBelief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """Two pulls of arm 0; and what is needed without any."""
        known: Limits = {"mean_queries": 2.0, "max_queries": 2}
        if error_prob is not None:
            known["without_arm_zero_mean_queries"] = two_pull_queries_without_arm_zero(
                self.num_arms, error_prob, self.noise
            )
        return known


class TwoPullState(eqx.Module):
    """The rewards of all arms, and the last of arm 0."""

    rewards: RewardSums
    last_of_zero: Scalar


class TwoPullBelief(AbstractPredictiveBelief):
    """That of a Gaussian bandit until arm 0 is pulled twice, then certainty."""

    family: TwoPullBandit

    def init(self, first_outcome: Float[Array, "outcome"]) -> TwoPullState:
        nothing = RewardSums.none(self.family.num_arms, first_outcome.dtype)
        return TwoPullState(nothing, jnp.zeros((), first_outcome.dtype))

    def update(
        self, state: TwoPullState, query: Index, outcome: Float[Array, "outcome"]
    ) -> TwoPullState:
        last = jnp.where(query == 0, outcome[0], state.last_of_zero)
        return TwoPullState(state.rewards.add(query, outcome[0]), last)

    def log_posterior(self, state: TwoPullState) -> Float[Array, "hypotheses"]:
        """By one-dimensional quadrature, or what arm 0 said."""
        arms = jnp.arange(self.family.num_arms)
        regular = best_arm_log_posterior(
            state.rewards.counts[1:],
            state.rewards.sums[1:],
            min_gap=0.0,
            noise=self.family.noise,
            mean_range=1.0,
            num_nodes=_NUM_NODES,
        )
        pointed = jnp.round(state.last_of_zero * self.family.num_arms) - 1.0
        pointed = jnp.clip(pointed, 1, self.family.num_arms - 1).astype(arms.dtype)
        told = jnp.where(arms == pointed, 0.0, -jnp.inf)
        return jnp.where(self._knows(state), told, jnp.append(-jnp.inf, regular))

    def information_gains(self, state: TwoPullState) -> Float[Array, "queries"]:
        """Nothing at the first pull of arm 0, everything at the second."""
        noise = self.family.noise
        regular = best_arm_information_gains(
            state.rewards.counts[1:],
            state.rewards.sums[1:],
            min_gap=0.0,
            noise=noise,
            mean_range=1.0,
            next_noise=max(noise, 1.0 / 64),
            num_nodes=max(_NUM_NODES, min(math.ceil(1.5 / noise), 96)),
            num_rewards=rewards_needed(noise, 1.0),
        )
        entropy = jnp.sum(entr(jnp.exp(self.log_posterior(state))))
        of_zero = jnp.where(state.rewards.counts[0] == 1, entropy, 0.0)
        gains = jnp.append(of_zero, regular)
        return jnp.where(self._knows(state), 0.0, gains)

    def _knows(self, state: TwoPullState):
        return state.rewards.counts[0] >= 2
