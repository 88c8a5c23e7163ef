"""A bandit whose law changes: the second pull of one arm tells everything."""

import jax.numpy as jnp
import jax.random as jr

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_at_least, check_positive
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    TaskSpec,
    parameter,
    plain_step,
)
from icpe.families.bandits import Means, arm_names


class TwoPullBandit(AbstractTaskFamily):
    """Arm 0 seems useless, but from its second pull on it points to the best arm.

    The means of arms 1..K-1 are uniform on [0, 1] and that of arm 0 is 0; rewards are
    normal. The second and later rewards of arm 0 are phi(best) without noise, where
    phi of the i-th arm, counted from 1, is i / K. The first pull of arm 0 carries no
    information at all, so a rule that looks one step ahead never makes it, while two
    pulls of arm 0 always suffice (the first example of the paper on the weakness of
    information-directed sampling). Arm 0 is never the answer.
    """

    num_arms: int = parameter(10, "number of arms K, arm 0 included")
    noise: float = parameter(1.0, "standard deviation of a reward")
    horizon: int = parameter(100, "most queries in an episode")

    def __check_init__(self):
        check_at_least("num_arms", self.num_arms, 3)
        check_positive("noise", self.noise)
        check_at_least("horizon", self.horizon, 1)

    @property
    def spec(self) -> TaskSpec:
        """A query pulls an arm; the hypotheses are the arms."""
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
        """Draws a reward of the pulled arm."""
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
