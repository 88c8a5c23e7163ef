"""The magic chain: arms that point to one another, and the last to the best arm."""

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


class ChainTask(eqx.Module):
    """Means of all arms, the best arm, and how many arms are magic."""

    means: Float[Array, "arms"]
    best: Index
    num_magic: Index


class MagicChain(AbstractTaskFamily):
    """A chain of magic arms leads from arm 0 to the best of the regular arms.

    Arm 0 is the first of `num_magic` magic arms; which arms follow, and in which
    order, is uniformly random. The mean of a magic arm is phi(next in the chain), of
    the last one phi(best regular arm), where phi of the i-th arm, counted from 1, is
    i / K. Regular means are uniform on [1, 2], so a reward below or at 1 gives a magic
    arm away, but not its place in the chain. A magic arm is never the answer.

    With `vary_magic` each task has its own number of magic arms, drawn uniformly and
    revealed in the first outcome, so that one explorer serves all of them.
    """

    num_arms: int = parameter(10, "number of arms K")
    num_magic: int = parameter(2, "number of magic arms, arm 0 included")
    noise: float = parameter(0.0, "standard deviation of a reward")
    horizon: int = parameter(0, "most queries; 0: num_arms, 10 times that with noise")
    vary_magic: bool = parameter(
        False, "draw the number of magic arms, and reveal it", rare=True
    )
    fewest_magic: int = parameter(1, "with vary_magic: the smallest number", rare=True)
    most_magic: int = parameter(
        0, "with vary_magic: the largest; 0: num_arms - 1", rare=True
    )

    def __check_init__(self):
        check_at_least("num_arms", self.num_arms, 3)
        check_between("num_magic", self.num_magic, 1, self.num_arms - 1)
        check_between("noise", self.noise, 0.0, 1e6)
        check_at_least("horizon", self.horizon, 0)
        check_between("most_magic", self._most_magic, 1, self.num_arms - 1)
        check_between("fewest_magic", self.fewest_magic, 1, self._most_magic)

    @property
    def _most_magic(self) -> int:
        return self.most_magic or self.num_arms - 1

    @property
    def spec(self) -> TaskSpec:
        """A query pulls an arm; the hypotheses are the arms."""
        names = ("arm 0 (magic)", *arm_names(self.num_arms)[1:])
        spec = TaskSpec(
            num_queries=self.num_arms,
            num_hypotheses=self.num_arms,
            outcome_size=1,
            horizon=self.horizon or self.num_arms * (10 if self.noise else 1),
            outcome_shift=(1.0,),
            outcome_scale=(0.5,),
            query_names=names,
            hypothesis_names=names,
            outcome_names=("reward",),
            question="Pull {query}: what is the reward?",
        )
        if not self.vary_magic:
            return spec
        return reveal(spec, "number of magic arms", scale=float(self.num_arms))

    def sample_task(self, *, key: PRNGKey) -> ChainTask:
        """Draws the chain and the regular means."""
        number_key, order_key, means_key = jr.split(key, 3)
        number = jnp.asarray(self.num_magic, jnp.int32)
        if self.vary_magic:
            number = jr.randint(number_key, (), self.fewest_magic, self._most_magic + 1)
        arms = jnp.arange(self.num_arms)
        # The chain is the first `number` arms of a random order that starts with 0.
        order = jnp.append(0, jr.permutation(order_key, arms[1:]))
        regular = jnp.zeros(self.num_arms, bool).at[order].set(arms >= number)
        means = jr.uniform(means_key, (self.num_arms,), minval=1.0, maxval=2.0)
        best = jnp.argmax(jnp.where(regular, means, 0.0))
        following = jnp.where(arms + 1 < number, jnp.roll(order, -1), best)
        pointers = (following + 1).astype(jnp.float32) / self.num_arms
        pointers = jnp.zeros(self.num_arms).at[order].set(pointers)
        return ChainTask(jnp.where(regular, means, pointers), best, number)

    def reset(self, task: ChainTask, *, key: PRNGKey) -> StepResult:
        """Reveals nothing, or the number of magic arms if it varies."""
        if not self.vary_magic:
            return plain_reset(self.spec)
        number = task.num_magic.astype(jnp.float32)
        return plain_step(self.spec, jnp.stack([jnp.zeros(()), number]))

    def step(
        self, state: None, query: Index, task: ChainTask, *, key: PRNGKey
    ) -> StepResult:
        """Draws a reward of the pulled arm."""
        reward = self._reward(task.means[query], key=key)[None]
        if self.vary_magic:
            reward = jnp.append(reward, 0.0)
        return plain_step(self.spec, reward)

    def _reward(self, mean: Scalar, *, key: PRNGKey) -> Scalar:
        return mean + self.noise * jr.normal(key) if self.noise else mean

    def hypothesis(self, task: ChainTask) -> Index:
        """The best regular arm."""
        return task.best
