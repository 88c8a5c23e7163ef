"""The magic chain: arms that point to one another, and the last to the best arm."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import entr, logsumexp
from jaxtyping import Array, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.checks import check_between
from icpe.core.errors import UnsupportedError
from icpe.core.family import (
    Limits,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.spec import TaskSpec, reveal
from icpe.families.bandit.family import AbstractBandit
from icpe.families.bandit.rewards import arm_names
from icpe.theory.frontier import Frontier
from icpe.theory.magic_chain import magic_chain_bound, magic_chain_zero_error
from icpe.theory.magic_chain_frontier import magic_chain_frontier
from icpe.theory.magic_chain_posterior import ChainRecord, chain_log_weights

_MOST_CHAIN_ARMS = 24
"""The dynamic program of a longer chain takes too long for a table."""

_NUM_VALUES = 12
"""Nodes of the quadrature over values that exceed all seen."""


class ChainTask(eqx.Module):
    """Means of all arms, the best arm, and how many arms are magic."""

    means: Float[Array, "arms"]
    best: Index
    num_magic: Index


class MagicChain(AbstractBandit):
    """A chain of magic arms leads from arm 0 to the best of the regular arms.

    Arm 0 is the first of `num_magic` magic arms; which arms follow, and in which
    order, is uniformly random. The mean of a magic arm is phi(next in the chain), of
    the last one phi(best regular arm), where phi of the i-th arm, counted from 1, is
    i / K. Regular means are uniform on [1, 2], so a reward below or at 1 gives a magic
    arm away, but not its place in the chain. A magic arm is never the answer.

    With `vary_magic` each task has its own number of magic arms, drawn uniformly and
    revealed in the first outcome, so that one explorer serves all of them.
    """

    num_arms: int = parameter(10, "number of arms K", at_least=3)
    num_magic: int = parameter(2, "number of magic arms, arm 0 included")
    noise: float = parameter(
        0.0, "standard deviation of a reward", at_least=0.0, at_most=1e6
    )
    horizon: int = parameter(
        0, "most queries; 0: num_arms, 10 times that with noise", rare=True, at_least=0
    )
    vary_magic: bool = parameter(
        False, "draw the number of magic arms, and reveal it", rare=True
    )
    fewest_magic: int = parameter(1, "with vary_magic: the smallest number", rare=True)
    most_magic: int = parameter(
        0, "with vary_magic: the largest; 0: num_arms - 1", rare=True
    )

    def __check_init__(self):
        check_ranges(self)
        check_between("num_magic", self.num_magic, 1, self.num_arms - 1)
        check_between("most_magic", self._most_magic, 1, self.num_arms - 1)
        check_between("fewest_magic", self.fewest_magic, 1, self._most_magic)

    @property
    def _most_magic(self) -> int:
        return self.most_magic or self.num_arms - 1

    def in_words(self) -> str:
        noise = "no noise"
        if self.noise:
            noise = f"rewards with standard deviation {self.noise:g}"
        magic = f"{self.num_magic}"
        if self.vary_magic:
            magic = f"{self.fewest_magic} or more"
        return (
            f"{self.num_arms} arms, of which {magic} are magic: arm 0 points to the "
            "next of them and the last to the best of the others, whose means lie "
            f"between 1 and 2; {noise}"
        )

    @property
    def spec(self) -> TaskSpec:
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
            reveals=False,
            may_end=False,
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
        reward = self._reward(task.means[query], key=key)[None]
        if self.vary_magic:
            reward = jnp.append(reward, 0.0)
        return plain_step(self.spec, reward)

    def _reward(self, mean: Scalar, *, key: PRNGKey) -> Scalar:
        return mean + self.noise * jr.normal(key) if self.noise else mean

    def hypothesis(self, task: ChainTask) -> Index:
        return task.best

    def exact_belief(self) -> "ChainBelief":
        """By counting chains.

        Raises:
            UnsupportedError: the rewards are noisy.
        """
        if self.noise:
            raise UnsupportedError(
                "Family 'magic-chain' has an exact belief only without noise; got "
                f"noise={self.noise}; set it to 0, or train an explorer."
            )
        return ChainBelief(self)

    def known_limits(self, error_prob: float | None, *, key: PRNGKey) -> Limits:
        """Both optima without noise, averaged over the length where it varies."""
        if self.noise:
            return {}
        lengths = [self.num_magic]
        if self.vary_magic:
            lengths = list(range(self.fewest_magic, self._most_magic + 1))
        size = self.num_arms

        def average(function) -> float:
            return float(np.mean([function(size, length) for length in lengths]))

        known: Limits = {
            "mean_queries": average(magic_chain_zero_error),
            "paper_expression": average(magic_chain_bound),
        }
        if error_prob is not None and size <= _MOST_CHAIN_ARMS:
            frontier = _mean_frontier(size, lengths)
            known["bayes_mean_queries"] = frontier.mean_cost_at(1.0 - error_prob)
        return known

    def reward_noise(
        self, first_outcome: Float[Array, "outcome"]
    ) -> Float[Array, "arms"]:
        return jnp.full(self.num_arms, self.noise, first_outcome.dtype)


class ChainState(eqx.Module):
    """What the arms said, and how many of them are magic."""

    record: ChainRecord
    num_magic: Index


class ChainBelief(AbstractPredictiveBelief):
    """The fragments of the chain that are known, and the values of regular arms."""

    family: MagicChain

    def init(self, first_outcome: Float[Array, "outcome"]) -> ChainState:
        """Nothing pulled yet; the length of the chain is revealed where it varies."""
        family = self.family
        number = first_outcome[1] if family.vary_magic else family.num_magic
        record = ChainRecord.empty(family.num_arms)
        return ChainState(record, jnp.asarray(number).astype(jnp.int32))

    def update(
        self, state: ChainState, query: Index, outcome: Float[Array, "outcome"]
    ) -> ChainState:
        """A reward of at most 1 is a pointer, others are values on [1, 2]."""
        reward = outcome[0]
        name = jnp.round(reward * self.family.num_arms).astype(jnp.int32) - 1
        records = (
            state.record.with_name(query, name),
            state.record.with_value(query, reward - 1.0),
        )
        record = jax.tree.map(lambda *new: jnp.where(reward <= 1.0, *new), *records)
        return ChainState(record, state.num_magic)

    def log_posterior(self, state: ChainState) -> Float[Array, "hypotheses"]:
        return jax.nn.log_softmax(chain_log_weights(state.record, state.num_magic))

    def information_gains(self, state: ChainState) -> Float[Array, "queries"]:
        """By trying out what each arm may say.

        It names another arm, or has a value below the largest seen, which all tell
        the same, or above, by quadrature.
        """
        size = self.family.num_arms
        arms = jnp.arange(size)
        record = state.record
        known = record.magic | record.regular
        largest = jnp.max(jnp.where(record.regular, record.values, 0.0))
        nodes, weights = np.polynomial.legendre.leggauss(_NUM_VALUES)
        points = jnp.asarray((nodes + 1) / 2, largest.dtype)
        values = jnp.append(0.5 * largest, largest + (1.0 - largest) * points)
        widths = jnp.asarray(weights / 2, largest.dtype)
        widths = jnp.append(largest, (1.0 - largest) * widths)

        def weigh(record: ChainRecord) -> Float[Array, "hypotheses"]:
            return chain_log_weights(record, state.num_magic)

        def gain(arm: Index) -> Scalar:
            named = jax.vmap(lambda name: weigh(record.with_name(arm, name)))(arms)
            # No arm names itself, nor arm 0, nor what another arm has named.
            taken = jnp.any(
                record.magic[:, None] & (record.names[:, None] == arms[None, :]), axis=0
            )
            taken = taken | (arms == arm) | (arms == 0)
            named = jnp.where(taken[:, None], -jnp.inf, named)
            shown = jax.vmap(lambda value: weigh(record.with_value(arm, value)))(values)
            shown = shown + jnp.log(widths)[:, None]
            log_joint = jnp.concatenate([named, shown])
            joint = jnp.exp(log_joint - logsumexp(log_joint))
            mixed, alone = jnp.sum(joint, axis=1), jnp.sum(joint, axis=0)
            return jnp.sum(entr(mixed)) + jnp.sum(entr(alone)) - jnp.sum(entr(joint))

        gains = jnp.maximum(jax.vmap(gain)(arms), 0.0)
        return jnp.where(known, 0.0, gains)


def _mean_frontier(size: int, lengths: list[int]) -> Frontier:
    """The Bayes optimum of a known length, averaged at equal price."""
    prices = np.append(np.geomspace(1.0, 1e-4, 96), 1e-9)
    each = [magic_chain_frontier(size, length, prices) for length in lengths]
    return Frontier(
        prices=prices,
        mean_cost=np.mean([one.mean_cost for one in each], axis=0),
        accuracy=np.mean([one.accuracy for one in each], axis=0),
    )
