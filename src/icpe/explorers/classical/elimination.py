"""Elimination with a fixed budget: pull the arms in turn, drop the worst, repeat."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey
from icpe.core.errors import OperatingPointError
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if
from icpe.families.bandit.rewards import RewardSums


class AbstractSchedule(eqx.Module):
    """How many arms survive each phase, and how often they are pulled until then."""

    num_arms: eqx.AbstractVar[int]
    forgets: eqx.AbstractVar[bool]

    @property
    @abc.abstractmethod
    def survivors(self) -> tuple[int, ...]:
        """Arms left after each phase; the last entry is 1."""

    @abc.abstractmethod
    def pulls_until(self, budget: Index) -> Int[Array, "phases"]:
        """Pulls of each survivor from the start to the end of each phase."""


class EliminationState(eqx.Module):
    """The arms that are left, their rewards, and the rewards before this phase."""

    is_left: Bool[Array, "arms"]
    rewards: RewardSums
    earlier: RewardSums
    phase: Index
    pulls_until: Int[Array, "phases"]


class EliminationExplorer(AbstractExplorer):
    """Pulls the arms that are left in turn, and drops the worst after each phase.

    Arms are ranked by the sample mean, of all rewards or of those of the phase where
    the schedule forgets. A budget too small for the schedule ends it early; the answer
    is then the best of the arms that are left.
    """

    name: str = eqx.field(static=True)
    schedule: AbstractSchedule

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> EliminationState:
        """Serves a budget, which fixes the schedule."""
        if operating_point.regime is not Regime.BUDGET:
            raise OperatingPointError(
                f"Explorer {self.name!r} plans for a budget and has no rule to stop; "
                "ask for budget."
            )
        size = self.schedule.num_arms
        nothing = RewardSums.none(size, first_outcome.dtype)
        return EliminationState(
            jnp.ones(size, bool),
            nothing,
            nothing,
            jnp.zeros((), jnp.int32),
            self.schedule.pulls_until(operating_point.max_queries),
        )

    def ask(
        self,
        state: EliminationState,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        """The least pulled of the arms that are left, else of the allowed ones."""
        pulls = state.rewards.counts
        late = jnp.where(state.is_left, 0, 1 + jnp.max(pulls))
        most = jnp.iinfo(pulls.dtype).max
        query = jnp.argmin(jnp.where(query_mask, pulls + late, most))
        return stop_if(~jnp.any(query_mask), query)

    def tell(
        self, state: EliminationState, query: Index, outcome: Float[Array, "outcome"]
    ) -> EliminationState:
        """Counts the reward and, at the end of a phase, drops the worst arms."""
        rewards = state.rewards.add(query, outcome[0])
        most = jnp.iinfo(rewards.counts.dtype).max
        level = jnp.min(jnp.where(state.is_left, rewards.counts, most))
        phase = jnp.sum(state.pulls_until <= level, dtype=jnp.int32)
        ends = phase > state.phase
        kept = self._best(state, rewards, phase)
        earlier = RewardSums(
            jnp.where(ends, rewards.counts, state.earlier.counts),
            jnp.where(ends, rewards.sums, state.earlier.sums),
        )
        return EliminationState(
            jnp.where(ends, kept, state.is_left),
            rewards,
            earlier if self.schedule.forgets else state.earlier,
            jnp.maximum(phase, state.phase),
            state.pulls_until,
        )

    def recommend(self, state: EliminationState) -> Index:
        """The largest sample mean of the arms that are left."""
        counts = state.rewards.counts
        means = state.rewards.sums / jnp.maximum(counts, 1).astype(
            state.rewards.sums.dtype
        )
        return jnp.argmax(jnp.where(state.is_left & (counts > 0), means, -jnp.inf))

    def log_posterior(self, state: EliminationState) -> None:
        """None: it has no belief."""
        return None

    def _best(
        self, state: EliminationState, rewards: RewardSums, phase: Index
    ) -> Bool[Array, "arms"]:
        """The best of the arms that are left, as many as survive up to a phase."""
        counts = (rewards.counts - state.earlier.counts).astype(rewards.sums.dtype)
        means = (rewards.sums - state.earlier.sums) / jnp.maximum(counts, 1.0)
        means = jnp.where(state.is_left, means, -jnp.inf)
        rank = jnp.argsort(jnp.argsort(-means))
        survivors = jnp.asarray(self.schedule.survivors)
        return state.is_left & (rank < survivors[jnp.maximum(phase - 1, 0)])
