"""A session: one explorer on one real problem, by ask and tell, in memory.

session = Session(Artifact.load("arms.safetensors"), error_prob=0.05)
while (query := session.ask()) is not None:
    session.tell(query, measure(query))
print(session.recommendation, session.stop_reason.sentence)
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from jaxtyping import Float

from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.core.checks import is_whole
from icpe.core.episode import StopReason
from icpe.core.errors import InvalidParameterError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import LEAST_CONFIDENCE, OperatingPoint, Promise, Request
from icpe.core.units import Units
from icpe.deploy.events import Draft, Event, Kind, numbered
from icpe.deploy.repeats import Repeatable
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import Answer, Change, State, Steps, complete
from icpe.deploy.setup import Setup


class AbstractSession:
    """What sessions in memory and durable ones have in common.

    The rules are those of a simulated episode: the cap on queries, the horizon, the end
    by the task itself, each query once where the family says so, and the stop by the
    explorer. The next query is computed when an outcome is told, so that `ask`,
    `stopped` and `recommendation` only look. Threads may share a session: what they
    tell is taken in one after the other, and whoever tells what another has told
    already is answered like anybody who was not asked.
    """

    _rules: SessionRules
    _state: State
    _events: tuple[Event, ...]
    _turns: threading.Lock

    @overload
    def ask(self) -> int | None: ...
    @overload
    def ask(self, count: int) -> list[int]: ...
    def ask(self, count: int | None = None) -> int | list[int] | None:
        """The query to make next, the same until it is told; None after the stop.

        Args:
            count: have so many questions open at once; they come as a list, the oldest
                first, which is shorter where less is left to ask. Each is chosen with
                the others in view but without their answers, so the second one loses
                the certificate.
        """
        if count is not None and not (is_whole(count) and count >= 1):
            raise InvalidParameterError(
                f"count must be a whole number from 1 on; got {count!r}."
            )
        with self._turns:
            self._look()
            self._make(lambda state: self._rules.ask(state, count or 1))
            found = list(self._state.open_queries)
            if count is not None:
                return found if not self.stopped else []
            return found[0] if found and not self.stopped else None

    def tell(
        self,
        query: SupportsIndex | str,
        outcome: Any,
        terminated: bool = False,
        query_mask: Any = None,
        *,
        token: str | None = None,
    ) -> None:
        """Takes in the outcome of a query. After an error nothing has changed.

        A query that was not asked for is taken in as well: it counts like any other,
        the explorer goes on from what it learned, and the certificate is lost. So it is
        by a mask or an end that the family cannot produce, and by answers that do not
        look like the family's; `certificate_lost` says why. Answers to questions that
        were open when the session stopped are taken in, too; they count for the
        recommendation, and the stop stays.

        Args:
            query: number or name of the query that was made.
            outcome: what was measured: one number in the user's units, where these
                were given, else in the units of the family `outcome_size` numbers, or
                one number where that is 1. Where the family names its outcomes it must
                be one of them, by its number or its name.
            terminated: whether the task itself has ended.
            query_mask: which queries are allowed next, one truth value each; needed
                only where the family cannot tell.
            token: any text that names this answer, so that telling it again, because
                nobody knows whether it arrived, changes nothing.

        Raises:
            SessionError: the session has stopped.
            ConflictError: another answer came with the same token, or somebody else
                has added to a durable session meanwhile.
            InvalidOutcomeError: the query does not exist or is not allowed, or the
                outcome or the mask is missing, has the wrong shape, is not finite or
                cannot be.
        """
        with self._turns:
            self._make(
                lambda state: self._rules.tell(
                    state, query, outcome, terminated, query_mask
                ),
                Repeatable(token, Kind.TOLD, {"query": query, "outcome": outcome}),
            )

    def skip(
        self, query: SupportsIndex | str | None = None, *, token: str | None = None
    ) -> None:
        """Withdraws an open question, the oldest if none is named; ask for another.

        It is not asked again in this session. The certificate is lost.

        Raises:
            SessionError: the question is not open.
            ConflictError: as in `tell`.
        """
        with self._turns:
            self._make(
                lambda state: self._rules.skip(state, query),
                Repeatable(token, Kind.SKIPPED, {"query": query}),
            )

    def undo(self, *, token: str | None = None) -> None:
        """Takes back the last answer or skip, and a stop that followed from it.

        The record keeps what was undone. The certificate is lost.

        Raises:
            SessionError: there is nothing to undo, or the session is closed.
            ConflictError: as in `tell`.
        """
        with self._turns:
            self._make(
                lambda state: self._rules.undo(state, self._events),
                Repeatable(token, Kind.UNDONE, {}),
            )

    def close(self, *, token: str | None = None) -> None:
        """Takes nothing more. Closing before the stop loses the certificate.

        Raises:
            SessionError: the session is closed already.
            ConflictError: as in `tell`.
        """
        with self._turns:
            self._make(self._rules.close, Repeatable(token, Kind.CLOSED, {}))

    def __repr__(self) -> str:
        """Where it stands, in one line."""
        answers, belief = len(self.history), self.posterior
        leader = self.recommendation_name
        if belief is not None:
            leader += f" with probability {belief[self.recommendation]:.3g}"
        where = "closed" if self.closed else "open"
        if self.stop_reason is not StopReason.RUNNING:
            where = f"stopped, because {self.stop_reason.sentence}"
        lost = self.certificate_lost
        certified = "certified" if self.certified else "not certified"
        return (
            f"<{type(self).__name__}{self._called}: "
            f"{answers} {'answer' if answers == 1 else 'answers'}, leader {leader}; "
            f"{where}; {certified}{f', since {lost}' if lost else ''}>"
        )

    @property
    def query_name(self) -> str | None:
        """The name of the query to make next; None after the stop."""
        if self.stopped:
            return None
        queries = self._state.open_queries or (self._state.query,)
        return self._rules.setup.words.query_name(queries[0])

    @property
    def stopped(self) -> bool:
        """Whether no more queries are to be made."""
        return self._state.stopped

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._state.closed

    @property
    def stop_reason(self) -> StopReason:
        """Why it stopped, `RUNNING` before; its `sentence` says it in words."""
        return self._state.stop_reason

    @property
    def open_queries(self) -> tuple[int, ...]:
        """Queries that were asked for and have no answer yet, the oldest first."""
        return self._state.open_queries

    @property
    def recommendation(self) -> int:
        """The hypothesis it names now; the answer, once it has stopped."""
        return self._state.recommendation

    @property
    def recommendation_name(self) -> str:
        """The name of that hypothesis."""
        return self._rules.setup.words.hypothesis_name(self._state.recommendation)

    @property
    def posterior(self) -> Float[np.ndarray, "settings"] | None:
        """Probability of each hypothesis now; None if the explorer has no belief.

        In the user's units it has one entry for each of the user's settings, though
        the family may have room for more.
        """
        return self._rules.setup.shown_belief(self._state.posterior)

    @property
    def history(self) -> tuple[Answer, ...]:
        """What was told so far, first to last, without what was undone."""
        return self._state.history

    @property
    def cost(self) -> float:
        """What the answers so far have cost; 1 each, where the family has no costs."""
        return self._state.cost(self._rules.setup.family.spec)

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, first to last."""
        return self._events

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request, and nothing has voided it."""
        return self.certificate is not None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate behind `certified`, which says the confidence, or None."""
        return self._rules.certificate(self._state)

    @property
    def certificate_lost(self) -> str | None:
        """Why the certificate of the request no longer holds, in words, or None."""
        return self._rules.certificate_lost(self._state)

    @property
    def alarm(self) -> str | None:
        """What does not look like the family, in words; None if all does.

        Of explorers without a guard nothing is known.
        """
        return self._state.alarm

    @property
    def guarded(self) -> bool:
        """Whether anything checks that answers look like the family's."""
        return self._rules.setup.guard is not None

    @property
    def promised(self) -> str | None:
        """What the request promises of the answer, in words; None if nothing is.

        Whether it was shown is another matter: see `certified`.
        """
        return self._rules.setup.request.promised

    @property
    def undecided(self) -> bool:
        """Whether it stopped without the belief that was asked for.

        That is possible where the request promises a belief, and the queries came to
        an end before. What the certificate says is about the other sessions.
        """
        return self._rules.undecided(self._state)

    @property
    def nothing_known(self) -> bool:
        """Whether there were answers, and each said that the value is not known.

        The recommendation is then hardly more than a guess.
        """
        return self._rules.nothing_known(self._state)

    @property
    def operating_point(self) -> OperatingPoint:
        """The price or budget by which the request is served."""
        return self._rules.setup.player.operating_point

    @property
    def _called(self) -> str:
        """What tells it from others, with a blank before."""
        return ""

    def _look(self) -> None:
        """Takes notice of what others have done."""

    def _keep(self, events: tuple[Event, ...]) -> None:
        """Makes events durable; what raises here has not happened."""

    def _make(
        self,
        rule: Callable[[State], Steps[Change]],
        repeatable: Repeatable = Repeatable(),  # noqa: B008, an immutable value
    ) -> None:
        """Follows a rule, keeps its events, and makes its state the present one."""
        if repeatable.was_done(self._events, self._rules.read):
            return
        change = complete(rule(self._state), self._rules.live)
        if change.drafts:
            number, status = len(self._events), change.state.status
            new = numbered(change.drafts, number, status, repeatable.token)
            self._keep(new)
            self._events = (*self._events, *new)
        self._state = change.state


class Session(AbstractSession):
    """One explorer on one problem, from the first query to the answer, in memory.

    Args:
        explorer: a trained explorer's artifact, or any explorer.
        family: the family it serves; that of the artifact if None.
        error_prob: stop when the error probability is at most this.
        budget: make exactly this many queries.
        price: price of one unit of cost, in units of probability.
        max_queries: cap on the queries, beside a price or an error probability.
        confidence: the least confidence of a certificate that may serve error_prob.
        promise: what error_prob is promised about: "average", "belief" or
            "every-hypothesis".
        first_outcome: what the task reveals before any query; needed where the family
            reveals something.
        query_mask: which queries are allowed at first, where the family cannot tell.
        seed: seed of the explorer's own randomness, where it has any; a whole number
            from 0 to 2**32 - 1.
        on_alarm: what to do when answers do not look like the family's: "go on"
            without the certificate, or "stop".
        units: what the user's numbers mean, where the family can be asked in any units;
            outcomes are then told as they were measured, one number each.
        names: the user's names for the queries, which `tell` then takes as well.

    Raises:
        OperatingPointError: not exactly one of error_prob, budget and price is given,
            a value is out of range, or the explorer cannot serve it.
        InvalidParameterError: explorer is none, such as the name of a file; the family
            is missing; the seed or the confidence is out of range.
        UnsupportedError: the explorer cannot play the family.
        InvalidOutcomeError: first_outcome or query_mask is missing or malformed.
    """

    def __init__(
        self,
        explorer: Artifact | AbstractExplorer,
        family: AbstractTaskFamily | None = None,
        *,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
        confidence: float = LEAST_CONFIDENCE,
        promise: Promise | str = Promise.AVERAGE,
        first_outcome: Any = None,
        query_mask: Any = None,
        seed: int = 0,
        on_alarm: Literal["go on", "stop"] = "go on",
        units: Units | Any = None,
        names: Sequence[str] | Any = None,
    ):
        setup = Setup.of(
            explorer,
            family,
            Request(error_prob, budget, price, max_queries, confidence, promise),
            first_outcome=first_outcome,
            query_mask=query_mask,
            seed=seed,
            on_alarm=on_alarm,
            units=units,
            names=names,
        )
        self._rules = SessionRules(setup)
        self._turns = threading.Lock()
        begun = complete(self._rules.begin(), self._rules.live)
        drafts = (Draft(Kind.CREATED, setup.to_dict()), *begun.drafts)
        self._events = numbered(drafts, 0, begun.state.status)
        self._state = begun.state

    def __getstate__(self) -> dict[str, Any]:
        return {name: it for name, it in vars(self).items() if name != "_turns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turns=threading.Lock())
