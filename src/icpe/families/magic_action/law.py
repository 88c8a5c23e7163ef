"""The magic action: one arm's reward points to the best of the others."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.checks import check_at_least, check_between
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    TaskSpec,
    parameter,
    plain_reset,
    plain_step,
    reveal,
)
from icpe.families.bandits import arm_names


class MagicTask(eqx.Module):
    """Means of the arms, the magic arm first, and the noise of the magic arm."""

    means: Float[Array, "arms"]
    magic_noise: Scalar


class MagicAction(AbstractTaskFamily):
    """Arm 0 is known to be magic: its mean says which of the others is the best.

    The means of arms 1..K-1 are uniform on [1, 5]; that of arm 0 is phi(best), where
    phi of the i-th arm, counted from 1, is i / K. The reward of arm 0 has standard
    deviation `magic_noise`, the others 1 - `magic_noise`: with magic noise 0 one pull
    of arm 0 tells everything, with 1 it tells little and one pull of each other arm
    does. Arm 0 is never the answer.

    With `vary_noise` each task has its own magic noise, drawn uniformly and revealed
    in the first outcome, so that one explorer serves all noise levels.
    """

    num_arms: int = parameter(5, "number of arms K, the magic one included")
    magic_noise: float = parameter(0.1, "standard deviation of the magic arm")
    horizon: int = parameter(100, "most queries in an episode")
    vary_noise: bool = parameter(
        False, "draw the magic noise, and reveal it", rare=True
    )
    lowest_noise: float = parameter(
        0.0, "with vary_noise: the smallest magic noise", rare=True
    )
    highest_noise: float = parameter(
        1.0, "with vary_noise: the largest magic noise", rare=True
    )

    def __check_init__(self):
        check_at_least("num_arms", self.num_arms, 3)
        check_between("magic_noise", self.magic_noise, 0.0, 1.0)
        check_at_least("horizon", self.horizon, 1)
        check_between("highest_noise", self.highest_noise, 0.0, 1.0)
        check_between("lowest_noise", self.lowest_noise, 0.0, self.highest_noise)

    @property
    def spec(self) -> TaskSpec:
        """A query pulls an arm; the hypotheses are the arms."""
        names = ("the magic arm", *arm_names(self.num_arms)[1:])
        spec = TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon,
            outcome_shift=(2.5,),
            outcome_scale=(2.5,),
            query_names=names,
            hypothesis_names=names,
            outcome_names=("reward",),
            question="Pull {query}: what is the reward?",
        )
        return reveal(spec, "magic noise", scale=1.0) if self.vary_noise else spec

    def sample_task(self, *, key: PRNGKey) -> MagicTask:
        """Draws the regular means, and the noise if it varies."""
        means_key, noise_key = jr.split(key)
        means = jr.uniform(means_key, (self.num_arms,), minval=1.0, maxval=5.0)
        best = 1 + jnp.argmax(means[1:])
        noise = jnp.asarray(self.magic_noise, jnp.float32)
        if self.vary_noise:
            noise = jr.uniform(
                noise_key, (), minval=self.lowest_noise, maxval=self.highest_noise
            )
        pointer = (best + 1).astype(jnp.float32) / self.num_arms
        return MagicTask(means.at[0].set(pointer), noise)

    def reset(self, task: MagicTask, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the magic noise if it varies."""
        if not self.vary_noise:
            return plain_reset(self.spec)
        return plain_step(self.spec, jnp.stack([jnp.zeros(()), task.magic_noise]))

    def step(
        self, state: None, query: Index, task: MagicTask, *, key: PRNGKey
    ) -> StepResult:
        """Draws a reward of the pulled arm."""
        noise = jnp.where(query == 0, task.magic_noise, 1.0 - task.magic_noise)
        reward = (task.means[query] + noise * jr.normal(key))[None]
        if self.vary_noise:
            reward = jnp.append(reward, 0.0)
        return plain_step(self.spec, reward)

    def hypothesis(self, task: MagicTask) -> Index:
        """The best arm, which is never the magic one."""
        return 1 + jnp.argmax(task.means[1:])
