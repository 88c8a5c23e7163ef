"""One exported explorer on one problem."""

import dataclasses
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from icpe.portable.episode import Spec, StopReason
from icpe.portable.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    SessionError,
)
from icpe.portable.model import Model
from icpe.portable.reading import (
    read_first_outcome,
    read_mask,
    read_outcome,
    read_query,
)
from icpe.portable.requests import (
    LEAST_CONFIDENCE,
    UNDECIDED,
    Certificate,
    OperatingPoint,
)
from icpe.portable.units import Units, read_units, with_names, with_words


@dataclasses.dataclass(frozen=True)
class Answer:
    """One query that was made, and its outcome.

    Attributes:
        query: number of the query.
        outcome: what was measured.
        asked: whether it is the query that the session had asked for.
        told: the number as the user told it, where units are the user's.
    """

    query: int
    outcome: np.ndarray
    asked: bool
    told: float | None = None


class Session:
    """One exported explorer on one problem, from the first query to the answer.

    Args:
        model: the file of an exported explorer, or a `Model`, which is opened once.
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
        on_alarm: what to do when answers do not look like the family's: "go on"
            without the certificate, or "stop".
        units: what the user's numbers mean, where the family can be asked in any units;
            outcomes are then told as they were measured, one number each.
        names: the user's names for the queries, which `tell` then takes as well.

    Raises:
        ArtifactError: the file is damaged or foreign.
        OperatingPointError: not exactly one of error_prob, budget and price is given,
            a value is out of range, or the explorer cannot serve it.
        InvalidParameterError: the confidence, on_alarm, units or names are none.
        UnsupportedError: the family takes its own units alone.
        InvalidOutcomeError: first_outcome or query_mask is missing or malformed.
    """

    def __init__(
        self,
        model: "Model | str | os.PathLike",
        *,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
        confidence: float = LEAST_CONFIDENCE,
        promise: str = "average",
        first_outcome: Any = None,
        query_mask: Any = None,
        on_alarm: str = "go on",
        units: Units | Any = None,
        names: Sequence[str] | Any = None,
    ):
        if on_alarm not in ("go on", "stop"):
            raise InvalidParameterError(
                f"on_alarm must be one of 'go on', 'stop'; got {on_alarm!r}."
            )
        self.model = model = model if isinstance(model, Model) else Model(model)
        self._point, self._certificate = model.serve(
            error_prob, budget, price, max_queries, confidence, promise
        )
        with_names(model.spec, names)
        family = model.document["class"]
        self._reading = read_units(units, names, first_outcome, model.units, family)
        self.spec: Spec = with_words(model.spec, names, self._reading)
        if self._reading is not None:
            first_outcome = self._reading.first_outcome
        self._stops_on_alarm = on_alarm == "stop"
        self._turns = threading.Lock()
        if first_outcome is None and model.units is not None:
            raise InvalidOutcomeError(
                "names and units are missing: this family compares settings in your "
                "own units; give a name for each setting, and units with the noise and "
                "the difference that matters."
            )
        if first_outcome is None and model.document["reveals"]:
            sought = ", ".join(self.spec.outcome_names)
            raise InvalidOutcomeError(
                "first_outcome is missing: this family reveals something before the "
                f"first query; give {sought or f'{self.spec.outcome_size} numbers'}."
            )
        first = read_first_outcome(first_outcome, self.spec)
        self._watch = model.guard and model.guard.start(self.spec, first)
        self._lost: str | None = None
        self._advance(model.start, -1, first, (), query_mask, terminated=False)

    def ask(self) -> int | None:
        """The query to make next, the same until it is told; None after the stop."""
        return None if self.stopped else self._query

    def tell(
        self,
        query: Any,
        outcome: Any,
        terminated: bool = False,
        query_mask: Any = None,
    ) -> None:
        """Takes in the outcome of a query. After an error nothing has changed.

        A query that was not asked for is taken in as well: it counts like any other,
        the explorer goes on from what it learned, and the certificate is lost. So it is
        by a mask or an end that the family cannot produce, and by answers that do not
        look like the family's; `certificate_lost` says why.

        Args:
            query: number or name of the query that was made.
            outcome: what was measured, in the user's units if the session has some,
                else in those of the family: `outcome_size` numbers, or one number
                where that is 1. Where the family names its outcomes it must be one of
                them.
            terminated: whether the task itself has ended.
            query_mask: which queries are allowed next, one truth value each; needed
                only where the family cannot tell.

        Raises:
            SessionError: the session has stopped.
            InvalidOutcomeError: the query does not exist or is not allowed, or the
                outcome or the mask is missing, has the wrong shape, is not finite or
                cannot be.
        """
        with self._turns:
            if self.stopped:
                raise SessionError(
                    f"The session has stopped, because {self.stop_reason.sentence}; "
                    "start a new session."
                )
            most = self._reading and self._reading.number_of_things
            number = read_query(query, self.spec, self._allowed, most)
            answer = self._answer(number, outcome)
            history = (*self._history, answer)
            self._advance(
                self._state, number, answer.outcome, history, query_mask, terminated
            )

    @property
    def query_name(self) -> str | None:
        """The name of the query to make next; None after the stop."""
        return None if self.stopped else self.spec.query_name(self._query)

    @property
    def stopped(self) -> bool:
        """Whether no more queries are to be made."""
        return self._stop_reason is not StopReason.RUNNING

    @property
    def stop_reason(self) -> StopReason:
        """Why it stopped, `RUNNING` before; its `sentence` says it in words."""
        return self._stop_reason

    @property
    def recommendation(self) -> int:
        """The hypothesis it names now; the answer, once it has stopped."""
        return int(self._posterior.argmax())

    @property
    def recommendation_name(self) -> str:
        """The name of that hypothesis."""
        return self.spec.hypothesis_name(self.recommendation)

    @property
    def posterior(self) -> np.ndarray:
        """Probability of each hypothesis now, of those that the user's problem has."""
        if self._reading is None:
            return self._posterior
        return self._posterior[: self._reading.number_of_things]

    @property
    def history(self) -> tuple[Answer, ...]:
        """What was told so far, first to last."""
        return self._history

    @property
    def certified(self) -> bool:
        """Whether a certificate covers the request, and nothing has voided it."""
        return self.certificate is not None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate behind `certified`, which says the confidence, or None."""
        return None if self.certificate_lost else self._certificate

    @property
    def certificate_lost(self) -> str | None:
        """Why the certificate of the request no longer holds, in words, or None."""
        if self._certificate is None:
            return None
        return self._lost or self.alarm or (UNDECIDED if self.undecided else None)

    @property
    def alarm(self) -> str | None:
        """What does not look like the family, in words; None if all does.

        Of explorers without a guard nothing is known.
        """
        return None if self._watch is None else self._watch.alarm

    @property
    def undecided(self) -> bool:
        """Whether it stopped without the belief that was asked for, if one was."""
        doubt = self._point.doubt
        if not self.stopped or doubt is None:
            return False
        # The comparison of compiled programs is one in single precision.
        return not bool(self._posterior.max() >= 1.0 - doubt - 1e-6)

    @property
    def nothing_known(self) -> bool:
        """Whether there were answers, and each said that the value is not known."""
        cells = self.model.cells
        if cells is None or not self.history:
            return False
        return all(cells.is_unknown(it.query, it.outcome) for it in self.history)

    @property
    def operating_point(self) -> OperatingPoint:
        """The price or budget by which the request is served."""
        return self._point

    def _answer(self, query: int, outcome: Any) -> Answer:
        """What was told, in the family's numbers."""
        told = None
        if self._reading is not None:
            told = self._reading.number(outcome)
            first = self._history[0].told if self._history else None
            outcome = self._reading.outcome(told, first)
        elif self.model.cells is not None:
            outcome = self.model.cells.read(query, outcome)
        read = read_outcome(outcome, self.spec, query)
        return Answer(query, read, query == self._query, told)

    def _advance(self, state, query, outcome, history, given, terminated) -> None:
        """Makes one step of the model, and what follows from it the present."""
        spec, point = self.spec, self._point
        mask = read_mask(given, np.ones(spec.num_queries, bool))
        told = {
            "query": np.array(query, np.int32),
            "outcome": outcome,
            "price": np.array(point.price, np.float32),
            "max_queries": np.array(point.max_queries, np.int32),
            "position": np.array(len(history), np.int32),
            "given_mask": mask,
            "has_mask": np.array(given is not None),
        }
        reply, state = self.model.step(state, told)
        allowed, lost = self._allowed_next(reply.get("query_mask"), history, given)
        watch, reasons = self._watch, [self._lost, lost]
        if history:
            if watch is not None:
                measured = self._reading and self._reading.measured(history)
                watch = watch.after(self._posterior, query, outcome, measured)
            reasons = [self._lost, self._not_asked(history[-1]), lost]
            if self.model.cells is not None:
                reasons.append(self.model.cells.why_strange(query, outcome))
        if terminated and spec.may_end is False:
            reasons.append(
                "the task was said to have ended, which tasks of this family never do"
            )
        if spec.ask_once:
            allowed[[answer.query for answer in history]] = False
        best = int(np.where(allowed, reply["ranking"], -np.inf).argmax())
        reason = self._why_ended(reply, best, len(history), allowed, terminated)
        if reason is StopReason.RUNNING and self._stops_on_alarm and watch is not None:
            reason = StopReason.RUNNING if watch.alarm is None else StopReason.ALARM
        self._stop_reason, self._watch = reason, watch
        self._lost = next(filter(None, reasons), None)
        self._state, self._history, self._allowed = state, history, allowed
        self._query, self._posterior = best, np.exp(reply["log_posterior"])

    def _allowed_next(
        self, known: np.ndarray | None, history: Sequence[Answer], given: Any
    ) -> tuple[np.ndarray, str | None]:
        """What family or user allow, and why that voids a certificate, if it does."""
        every = np.ones(self.spec.num_queries, bool)
        if not self.spec.masks_queries:
            known = every
        if given is None and known is None:
            raise InvalidOutcomeError(
                "query_mask is missing: some queries of this family are forbidden at "
                "times, and only you know which; give one truth value for each query."
            )
        if given is None or known is None:
            return np.array(known if given is None else read_mask(given, every)), None
        mask, reachable = read_mask(given, every), np.array(known)
        if self.spec.ask_once:
            reachable[[answer.query for answer in history]] = False
        if np.array_equal(mask, known) or np.array_equal(mask, reachable):
            return mask, None
        return mask, "query_mask is not what the family allows after these answers"

    def _not_asked(self, answer: Answer) -> str | None:
        if answer.asked:
            return None
        name = self.spec.query_name
        return (
            f"query {name(answer.query)} was answered where {name(self._query)} had "
            "been asked for"
        )

    def _why_ended(self, reply, query: int, number: int, allowed, terminated):
        """The world comes first, then the cap, then what there is to ask, then the
        explorer, by what the query is worth, or by the belief where that is promised.
        """
        if terminated:
            return StopReason.TERMINATED
        if number >= self._point.max_queries:
            return StopReason.BUDGET if self._point.is_budget else StopReason.HORIZON
        if not allowed.any():
            return StopReason.NO_QUERY
        doubt, stops = self._point.doubt, bool(reply["gain"][query] <= 0)
        if doubt is not None:
            least = np.log1p(-np.float32(doubt), dtype=np.float32)
            stops = bool(doubt > 0 and reply["log_posterior"].max() >= least)
        return StopReason.EXPLORER if stops else StopReason.RUNNING
