"""What a session knows, as the drawings need it."""

import dataclasses
import functools as ft
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from icpe.artifact.certificate import Certificate
from icpe.artifact.operating_table import OperatingTable
from icpe.core.episode import StopReason
from icpe.core.family import AbstractTaskFamily
from icpe.core.history import History
from icpe.core.request import Request
from icpe.core.spec import TaskSpec


@dataclasses.dataclass(frozen=True)
class Weighed:
    """The numbers of a `StopStatistic`: it stops exactly if `margin` <= 0."""

    stop: float
    ask: float
    margin: float
    kind: Literal["values", "threshold"]


@dataclasses.dataclass(frozen=True)
class Moment:
    """A session after one more answer; the first moment is before any.

    Attributes:
        query: that was answered, None before any.
        outcome: of that query.
        asked: whether the session had asked for it.
        posterior: probability of each hypothesis, None without a belief.
        recommendation: the hypothesis that it would name.
        weighed: what decides about stopping, None where nothing does.
        told: the outcome in the user's own unit, None where the family's are used.
    """

    query: int | None
    outcome: Float[np.ndarray, "outcome"]
    asked: bool
    posterior: Float[np.ndarray, "hypotheses"] | None
    recommendation: int
    weighed: Weighed | None = None
    told: float | None = None


@dataclasses.dataclass(frozen=True)
class Scene:
    """One session, shown as it was after `shown` answers.

    Attributes:
        family: whose task it is.
        spec: of the family, with the user's names where they have given some.
        moments: before the first answer, and after each.
        shown: which moment is looked at; the last one is now.
        request: what was asked for.
        price: by which an answer is weighed, 0 for a budget.
        max_queries: the most queries, by request or by the horizon.
        open_queries: questions without an answer, the oldest first.
        allowed: the queries that may be answered now.
        stop_reason: why no more is asked, or that more is.
        closed: whether nothing more is taken.
        certificate: that the session began with, if any covers the request.
        certificate_lost: why it no longer holds, in words.
        alarm: what does not look like the family, in words.
        guarded: whether anything checks that answers look like the family's.
        undecided: whether it stopped without the belief that was asked for.
        table: accuracy and queries of the explorer as they were measured.
        known: what is known from the start, in words, where units are the user's.
        unit: in which the user counts; for people alone.
    """

    family: AbstractTaskFamily
    spec: TaskSpec
    moments: tuple[Moment, ...]
    shown: int
    request: Request
    price: float
    max_queries: int
    open_queries: tuple[int, ...]
    allowed: Bool[np.ndarray, "queries"]
    stop_reason: StopReason = StopReason.RUNNING
    closed: bool = False
    certificate: Certificate | None = None
    certificate_lost: str | None = None
    alarm: str | None = None
    guarded: bool = True
    undecided: bool = False
    table: OperatingTable | None = None
    known: str = ""
    unit: str = ""

    @property
    def now(self) -> Moment:
        """The moment that is shown."""
        return self.moments[self.shown]

    @property
    def answers(self) -> tuple[Moment, ...]:
        """The answers up to the moment that is shown."""
        return self.moments[1 : self.shown + 1]

    @property
    def last(self) -> int:
        """How many answers there are in all."""
        return len(self.moments) - 1

    @property
    def is_live(self) -> bool:
        """Whether the moment that is shown is the present one."""
        return self.shown == self.last

    @property
    def stopped(self) -> bool:
        """Whether no more is asked."""
        return self.closed or self.stop_reason is not StopReason.RUNNING

    @property
    def ended(self) -> bool:
        """Whether the end of the session is shown."""
        return self.stopped and self.is_live

    @property
    def weighs(self) -> bool:
        """Whether stopping is weighed against asking at all."""
        return self.request.budget is None and self.now.weighed is not None

    @property
    def asking(self) -> int | None:
        """The question to be answered first, None if the past is shown."""
        return self.open_queries[0] if self.open_queries and self.is_live else None

    @ft.cached_property
    def exists(self) -> Bool[np.ndarray, "queries"]:
        """The queries that this task has at all, where that differs between tasks."""
        every = np.ones(self.spec.num_queries, bool)
        if not self.spec.masks_queries:
            return every
        start = dataclasses.replace(self, shown=0).history()
        known = self.family.query_mask(start.outcomes[0], start)
        return every if known is None else np.asarray(known)

    @property
    def hypotheses(self) -> list[int]:
        """The hypotheses that this task may have."""
        every = range(self.spec.num_hypotheses)
        if not self.spec.asks_about_hypotheses:
            return list(every)
        return [hypothesis for hypothesis in every if self.exists[hypothesis]]

    def describe(self, moment: Moment) -> str:
        """The outcome of a moment in words, in the user's unit where there is one."""
        if moment.told is not None:
            return f"{moment.told:.10g} {self.unit}".strip()
        answers = self.family.answers()
        if answers is None or moment.query is None:
            return self.spec.describe_outcome(moment.outcome, moment.query)
        return answers.words(moment.query, moment.outcome)

    def label(self, moment: Moment) -> int | None:
        """Which of the outcomes with names it was, None if it has no name."""
        for i, (_, named) in enumerate(self.spec.labels(moment.query)):
            if np.allclose(moment.outcome, named):
                return i
        return None

    def cost(self) -> float:
        """What the answers have cost."""
        costs = self.spec.costs
        made = [it.query for it in self.answers if it.query is not None]
        return sum(costs[query] for query in made) if costs else float(len(made))

    def history(self) -> History:
        """The answers up to the moment that is shown, as families read them."""
        queries = [it.query for it in self.answers]
        outcomes = [it.outcome for it in self.moments[: self.shown + 1]]
        return History(
            queries=jnp.asarray(queries, jnp.int32),
            outcomes=jnp.asarray(np.stack(outcomes), jnp.float32),
            length=jnp.asarray(len(queries), jnp.int32),
        )
