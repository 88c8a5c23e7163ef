"""Where a session stands, and the calls by which its rules reach the explorer.

Rules are generators. Where one needs the explorer it yields a call and is sent what
came of it, so that a session runs calls one by one (`complete`), and a service
collects those of many sessions into one.
"""

import dataclasses
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Bool, Float

from icpe.artifact.guard import Watch
from icpe.core.episode import StopReason
from icpe.core.spec import TaskSpec
from icpe.deploy.events import Draft, Status
from icpe.play.live import LiveEpisode, Turn

Result = TypeVar("Result")
Call = Callable[[LiveEpisode], Any]


@dataclasses.dataclass(frozen=True)
class Advance:
    """The call to take in one outcome, which a service may batch."""

    turn: Turn
    query: int
    outcome: Float[np.ndarray, "outcome"]
    query_mask: Bool[np.ndarray, "queries"]
    terminated: bool

    def __call__(self, live: LiveEpisode) -> Turn:
        return live.advance(
            self.turn, self.query, self.outcome, self.query_mask, self.terminated
        )


Steps = Generator[Call, Any, Result]


@dataclasses.dataclass(frozen=True)
class Answer:
    """One query that was made, and its outcome.

    Attributes:
        query: number of the query.
        outcome: what was measured.
        asked: whether it is a query that the session had asked for.
        told: the number as the user told it, where units are the user's.
    """

    query: int
    outcome: Float[np.ndarray, "outcome"]
    asked: bool
    told: float | None = None


@dataclasses.dataclass(frozen=True)
class State:
    """Where a session stands. It never changes; every event makes another one.

    Attributes:
        turn: of the explorer, after all answers.
        query: what the explorer would ask next; means nothing after the stop.
        recommendation: the hypothesis it names now.
        posterior: probability of each hypothesis, None if it has no belief.
        mask: the queries that family or user allow now, skipped ones included.
        history: all answers, first to last.
        open_queries: asked and not answered, the oldest first.
        skipped: queries that are not to be asked for again.
        watch: of the guard.
        lost: why a certificate no longer holds, in words.
        stop_reason: why no more is asked.
        closed: whether nothing more is taken.
    """

    turn: Turn
    query: int
    recommendation: int
    posterior: Float[np.ndarray, "hypotheses"] | None
    mask: Bool[np.ndarray, "queries"]
    history: tuple[Answer, ...] = ()
    open_queries: tuple[int, ...] = ()
    skipped: frozenset[int] = frozenset()
    watch: Watch | None = None
    lost: str | None = None
    stop_reason: StopReason = StopReason.RUNNING
    closed: bool = False

    @property
    def stopped(self) -> bool:
        """Whether no more queries are to be made."""
        return self.closed or self.stop_reason is not StopReason.RUNNING

    @property
    def status(self) -> Status:
        """The same as one word."""
        if self.closed:
            return Status.CLOSED
        return Status.STOPPED if self.stopped else Status.OPEN

    def cost(self, spec: TaskSpec) -> float:
        """What the answers have cost."""
        costs = spec.costs or (1.0,) * spec.num_queries
        return float(sum(costs[it.query] for it in self.history))

    @property
    def alarm(self) -> str | None:
        """What does not look like the family, in words."""
        return None if self.watch is None else self.watch.alarm


@dataclasses.dataclass(frozen=True)
class Change:
    """What a call to a session makes: events to be kept, and the state after them."""

    drafts: tuple[Draft, ...]
    state: State


def complete(steps: Steps[Result], live: LiveEpisode) -> Result:
    """Runs the calls of a rule one by one."""
    try:
        call = next(steps)
        while True:
            call = steps.send(call(live))
    except StopIteration as end:
        return end.value


def seen(turn: Turn) -> dict[str, Any]:
    """The fields of a `State` that a turn decides."""
    query, recommendation, posterior = jax.device_get(
        (turn.query, turn.recommendation, turn.posterior)
    )
    return {
        "turn": turn,
        "query": int(query),
        "recommendation": int(recommendation),
        "posterior": posterior,
    }
