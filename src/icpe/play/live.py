"""One episode as it happens: an explorer that is told one outcome after the other."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, PyTree
from icpe.core.episode import (
    STOP,
    StopReason,
    allowed_queries,
    none_asked,
    why_ended,
)
from icpe.core.explorer import AbstractExplorer, StopStatistic
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec


class Turn(eqx.Module):
    """Where an episode stands: what is asked next, or why it ended, and the belief.

    `asked` is None where queries may be made again; `posterior` is None if the
    explorer has no belief, `statistic` if nothing decides about stopping. `query` means
    nothing once the episode has ended.
    """

    state: PyTree
    num_queries: Index
    asked: Bool[Array, "queries"] | None
    allowed: Bool[Array, "queries"]
    query: Index
    stop_reason: Index
    recommendation: Index
    posterior: Float[Array, "hypotheses"] | None
    statistic: StopStatistic | None


class LiveEpisode(eqx.Module):
    """An explorer at an operating point, with the key of its own randomness.

    The same keys, queries and outcomes give the same turns as `icpe.play.rollout`.
    """

    explorer: AbstractExplorer
    operating_point: OperatingPoint
    key: PRNGKey
    spec: TaskSpec = eqx.field(static=True)

    def begin(
        self,
        first_outcome: Float[Array | np.ndarray, "outcome"],
        query_mask: Bool[Array | np.ndarray, "queries"],
        terminated: bool = False,
    ) -> Turn:
        """The turn before the first query."""
        return _begin(
            self, jnp.asarray(first_outcome), jnp.asarray(query_mask), terminated
        )

    def advance(
        self,
        turn: Turn,
        query: int,
        outcome: Float[Array | np.ndarray, "outcome"],
        query_mask: Bool[Array | np.ndarray, "queries"],
        terminated: bool = False,
    ) -> Turn:
        """The turn after one more outcome.

        Args:
            turn: the one before.
            query: the query that was made, asked for or not.
            outcome: what came of it.
            query_mask: what the family allows next.
            terminated: whether the family ended the episode.
        """
        return _advance(
            self,
            turn,
            jnp.asarray(query, jnp.int32),
            jnp.asarray(outcome),
            jnp.asarray(query_mask),
            terminated,
        )

    def look_again(
        self, turn: Turn, query_mask: Bool[Array | np.ndarray, "queries"]
    ) -> Turn:
        """The same turn where other queries are allowed."""
        return _look_again(self, turn, jnp.asarray(query_mask))

    def another(
        self,
        turn: Turn,
        query_mask: Bool[Array | np.ndarray, "queries"],
        number_open: int,
    ) -> int:
        """A further query while others are open, or `STOP`.

        Args:
            turn: the present one.
            query_mask: what may be asked beside the open queries.
            number_open: how many these are.
        """
        number = jnp.asarray(number_open, jnp.int32)
        return int(_another(self, turn, jnp.asarray(query_mask), number))


@eqx.filter_jit
def _begin(live: LiveEpisode, first_outcome, query_mask, terminated) -> Turn:
    state = live.explorer.init(live.spec, live.operating_point, first_outcome)
    start = jnp.zeros((), jnp.int32)
    asked = none_asked(live.spec)
    return _look(live, state, start, asked, query_mask, terminated)


@eqx.filter_jit
def _advance(live: LiveEpisode, turn: Turn, query, outcome, mask, terminated) -> Turn:
    return after_outcome(live, turn, query, outcome, mask, terminated)


@eqx.filter_jit
def _look_again(live: LiveEpisode, turn: Turn, mask) -> Turn:
    return _look(live, turn.state, turn.num_queries, turn.asked, mask, False)


@eqx.filter_jit
def _another(live: LiveEpisode, turn: Turn, mask, number_open):
    key = jr.fold_in(jr.fold_in(live.key, turn.num_queries), number_open)
    return live.explorer.ask(turn.state, mask, key=key)


def after_outcome(
    live: LiveEpisode, turn: Turn, query, outcome, mask, terminated
) -> Turn:
    """`LiveEpisode.advance` as a part of a larger program."""
    state = live.explorer.tell(turn.state, query, outcome)
    asked = turn.asked
    if asked is not None:
        asked = asked | (jnp.arange(live.spec.num_queries) == query)
    return _look(live, state, turn.num_queries + 1, asked, mask, terminated)


def _look(live: LiveEpisode, state, num_queries, asked, query_mask, terminated) -> Turn:
    explorer, point = live.explorer, live.operating_point
    allowed = allowed_queries(query_mask, asked)
    query = explorer.ask(state, allowed, key=jr.fold_in(live.key, num_queries))
    log_posterior = explorer.log_posterior(state)
    return Turn(
        state=state,
        num_queries=num_queries,
        asked=asked,
        allowed=allowed,
        query=query,
        stop_reason=why_ended(
            terminated=jnp.asarray(terminated),
            num_queries=num_queries,
            cap=point.max_queries,
            is_budget=point.is_budget(live.spec.horizon),
            can_ask=jnp.any(allowed),
            stops=query == STOP,
        ),
        recommendation=explorer.recommend(state),
        posterior=None if log_posterior is None else jnp.exp(log_posterior),
        statistic=explorer.stop_statistic(state, allowed),
    )


def reason_of(turn: Turn) -> StopReason:
    """Why the episode ended, or that it is running."""
    return StopReason(int(turn.stop_reason))
