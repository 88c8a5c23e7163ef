"""The rules of a session: what each event makes of its state.

They are generators; see `icpe.deploy.session_state`.
"""

import dataclasses
import functools as ft
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from icpe.artifact.certificate import Certificate
from icpe.core.episode import STOP, StopReason
from icpe.core.errors import SessionError
from icpe.deploy import departures
from icpe.deploy.events import Draft, Event, Kind, effective
from icpe.deploy.reading import read_outcome, read_query
from icpe.deploy.session_state import Advance, Answer, Call, Change, State, Steps, seen
from icpe.deploy.setup import Setup
from icpe.play.live import Turn, reason_of
from icpe.play.together import EpisodeRow


class SessionRules:
    """The rules of the sessions of one setup."""

    def __init__(self, setup: Setup):
        self.setup = setup
        self.live = setup.live
        self._spec, self._words = setup.family.spec, setup.words
        self._answers = setup.family.answers()
        self._cap = int(setup.player.operating_point.max_queries)

    @ft.cached_property
    def row(self) -> EpisodeRow:
        """What steps of several sessions in one call need to know of this one."""
        return EpisodeRow.of(self.live)

    def certificate(self, state: State) -> Certificate | None:
        """The certificate that still covers the session."""
        held = self.certificate_lost(state) is None
        return self.setup.player.certificate if held else None

    def certificate_lost(self, state: State) -> str | None:
        """Why the certificate of the request no longer holds, if there was one."""
        if self.setup.player.certificate is None:
            return None
        undecided = departures.UNDECIDED if self.undecided(state) else None
        return state.lost or state.alarm or undecided

    def undecided(self, state: State) -> bool:
        """Whether it stopped without the belief that was asked for, if one was."""
        if not state.stopped or state.posterior is None:
            return False
        return not bool(self.setup.player.is_decided(state.posterior))

    def nothing_known(self, state: State) -> bool:
        """Whether there were answers, and each said that the value is not known."""
        answers = self._answers
        if answers is None or not state.history:
            return False
        return all(answers.is_unknown(it.query, it.outcome) for it in state.history)

    def begin(self) -> Steps[Change]:
        """The state before the first query."""
        setup = self.setup
        mask, lost = self._mask_after((), setup.query_mask)
        turn: Turn = yield lambda live: live.begin(setup.first_outcome, mask)
        watch = setup.guard and setup.guard.start(self._words, setup.first_outcome)
        state = State(**seen(turn), mask=mask, watch=watch, lost=lost)
        return self._stopping((), state, reason_of(turn))

    def ask(self, state: State, count: int = 1) -> Steps[Change]:
        """Has so many questions open, or as many as there are to ask."""
        new: list[int] = []
        while not state.stopped and len(state.open_queries) + len(new) < count:
            query = yield from self._choose(state, (*state.open_queries, *new))
            if query is None:
                break
            new.append(query)
        if not new:
            return Change((), state)
        draft = Draft(Kind.ASKED, {"queries": new})
        return Change((draft,), self._asked(state, new))

    def tell(
        self,
        state: State,
        query: Any,
        outcome: Any,
        terminated: bool = False,
        query_mask: Any = None,
    ) -> Steps[Change]:
        """Takes in the outcome of a query; see `icpe.Session.tell`."""
        number, asked = self._check_told(state, query)
        told, reading = None, self.setup.reading
        if reading is not None:
            first = state.history[0].told if state.history else None
            told = reading.number(outcome)
            read = read_outcome(reading.outcome(told, first), self._words, number)
        else:
            read = self.read(number, outcome)
        answer = Answer(number, read, asked, told)
        history = (*state.history, answer)
        mask, lost = self._mask_after(history, query_mask)
        watch = state.watch
        if watch is not None and state.posterior is not None:
            measured = reading and reading.measured(history)
            watch = watch.after(state.posterior, number, read, measured)
        allowed = self._less_skipped(mask, state.skipped)
        turn: Turn = yield Advance(state.turn, number, read, allowed, bool(terminated))
        reasons = (
            state.lost,
            departures.not_asked(self._words, state, answer),
            departures.out_of_order(self._words, state, answer),
            lost,
            departures.strange(self._answers, number, read),
            departures.ended(self._spec, terminated),
        )
        still_open = list(state.open_queries) if asked and not terminated else []
        if number in still_open:
            still_open.remove(number)
        after = dataclasses.replace(
            state,
            **seen(turn),
            mask=mask,
            history=history,
            open_queries=tuple(still_open),
            watch=watch,
            lost=next(filter(None, reasons), None),
        )
        body = {
            "query": number,
            "outcome": read.tolist(),
            "told": told,
            "terminated": bool(terminated),
            "query_mask": None if query_mask is None else mask.tolist(),
            "asked": asked,
        }
        drafts = (Draft(Kind.TOLD, body),)
        if asked and number not in state.open_queries:
            drafts = (Draft(Kind.ASKED, {"queries": [number]}), *drafts)
        return self._stopping(drafts, after, reason_of(turn), state)

    def read(self, query: int, answer: Any) -> Float[np.ndarray, "outcome"]:
        """The outcome that an answer stands for, where units are the family's.

        Raises:
            InvalidOutcomeError: it stands for none.
        """
        if self._answers is not None:
            answer = self._answers.read(query, answer)
        return read_outcome(answer, self._words, query)

    def number(self, query: Any) -> int:
        """The query that a number or a name is about, allowed now or not."""
        return self._number(query, np.ones(self._spec.num_queries, bool))

    def skip(self, state: State, query: Any = None) -> Steps[Change]:
        """Withdraws a question for good, so that another is asked in its place."""
        self._check_open(state)
        candidates = state.open_queries or (() if state.stopped else (state.query,))
        if not candidates:
            raise SessionError(
                "There is no open question to skip; the session has "
                f"stopped, because {state.stop_reason.sentence}."
            )
        number = candidates[0]
        if query is not None:
            number, name = self.number(query), self._words.query_name
            if number not in candidates:
                names = ", ".join(map(name, candidates))
                raise SessionError(
                    f"query {name(number)} is not open and cannot be skipped; open is "
                    f"{names}."
                )
        skipped = state.skipped | {number}
        still_open = list(state.open_queries)
        if number in still_open:
            still_open.remove(number)
        lost = state.lost or departures.skipped(self._words, number)
        after = dataclasses.replace(
            state, skipped=skipped, open_queries=tuple(still_open), lost=lost
        )
        drafts = (Draft(Kind.SKIPPED, {"query": number}),)
        if not state.open_queries:
            drafts = (Draft(Kind.ASKED, {"queries": [number]}), *drafts)
        if state.stopped:
            return Change(drafts, after)
        allowed = self._less_skipped(state.mask, skipped)
        turn: Turn = yield lambda live: live.look_again(state.turn, allowed)
        after = dataclasses.replace(after, **seen(turn))
        return self._stopping(drafts, after, reason_of(turn))

    def undo(self, state: State, events: Sequence[Event]) -> Steps[Change]:
        """Takes back the last answer or skip, and all that followed from it."""
        self._check_open(state)
        undoable = (Kind.TOLD, Kind.SKIPPED)
        numbers = [it.number for it in effective(events) if it.kind in undoable]
        if not numbers:
            raise SessionError("There is nothing to undo; no answer has been told yet.")
        before = [it for it in effective(events) if it.number < numbers[-1]]
        restored = yield from self.rebuild(before)
        after = dataclasses.replace(restored, lost=state.lost or departures.UNDONE)
        return Change((Draft(Kind.UNDONE, {"event": numbers[-1]}),), after)

    def close(self, state: State) -> Steps[Change]:
        """Takes nothing more."""
        yield from ()
        self._check_open(state)
        early = None if state.stopped else departures.CLOSED_EARLY
        after = dataclasses.replace(
            state, closed=True, open_queries=(), lost=state.lost or early
        )
        return Change((Draft(Kind.CLOSED, {}),), after)

    def rebuild(self, events: Sequence[Event]) -> Steps[State]:
        """The state after these events, whose first is that of the creation."""
        kept = effective(events)
        state = (yield from self.begin()).state
        state = dataclasses.replace(state, stop_reason=_recorded(kept, 0))
        state = yield from self.follow(state, kept[1:])
        if any(it.kind is Kind.UNDONE for it in events):
            state = dataclasses.replace(state, lost=state.lost or departures.UNDONE)
        return state

    def follow(self, state: State, events: Sequence[Event]) -> Steps[State]:
        """The state after some more events, none of which undoes another.

        Questions and stops are taken as they were recorded, whatever this machine
        would compute.
        """
        for i, event in enumerate(events):
            before = state.stop_reason
            state = yield from self._again(state, event)
            if event.kind in (Kind.TOLD, Kind.SKIPPED):
                found = _recorded(events, i) if before is _RUNNING else before
                state = dataclasses.replace(state, stop_reason=found)
        return state

    def _again(self, state: State, event: Event) -> Steps[State]:
        body = event.body
        if event.kind is Kind.ASKED:
            return self._asked(state, body["queries"])
        if event.kind is Kind.TOLD:
            outcome = np.asarray(body["outcome"], np.float32)
            change = yield from self.tell(
                state,
                body["query"],
                outcome if body.get("told") is None else body["told"],
                body["terminated"],
                body["query_mask"],
            )
            return change.state
        if event.kind is Kind.SKIPPED:
            return (yield from self.skip(state, body["query"])).state
        if event.kind is Kind.CLOSED:
            return (yield from self.close(state)).state
        return state

    def _choose(self, state: State, open_queries: tuple[int, ...]) -> Steps[int | None]:
        """The next question beside the open ones, None if there is none to ask."""
        if not open_queries:
            return state.query
        if len(state.history) + len(open_queries) >= self._cap:
            return None
        allowed = np.array(state.turn.allowed)
        others = allowed.copy()
        others[list(open_queries)] = False
        # What is open is asked a second time only if nothing else is worth asking.
        for mask in (others,) if self._spec.ask_once else (others, allowed):
            if mask.any():
                query: int = yield self._another(state, mask, len(open_queries))
                if query != STOP:
                    return query
        return None

    def _another(self, state: State, mask: np.ndarray, number_open: int) -> Call:
        return lambda live: live.another(state.turn, mask, number_open)

    def _asked(self, state: State, new: Sequence[int]) -> State:
        open_queries = (*state.open_queries, *new)
        lost = state.lost or departures.asked_ahead(self._words, open_queries)
        return dataclasses.replace(state, open_queries=open_queries, lost=lost)

    def _check_open(self, state: State) -> None:
        if state.closed:
            raise SessionError("The session is closed; start a new session.")

    def _check_told(self, state: State, query: Any) -> tuple[int, bool]:
        """The query, and whether it had been asked for."""
        self._check_open(state)
        if state.stopped and not state.open_queries:
            raise SessionError(
                f"The session has stopped, because {state.stop_reason.sentence}; start "
                "a new session."
            )
        allowed = np.array(state.mask)
        if state.turn.asked is not None:
            allowed &= ~np.asarray(state.turn.asked)
        number = self._number(query, allowed)
        asked = number in state.open_queries
        if state.stopped and not asked:
            names = ", ".join(map(self._words.query_name, state.open_queries))
            raise SessionError(
                f"The session has stopped, because {state.stop_reason.sentence}; only "
                f"answers to its open queries are still taken: {names}."
            )
        if len(state.history) >= self._cap:
            raise SessionError(
                f"The session has had all of its {self._cap} answers; start a new "
                "session."
            )
        return number, asked or (not state.open_queries and number == state.query)

    def _number(self, query: Any, allowed: Bool[np.ndarray, "queries"]) -> int:
        """The query that a number or a name is about."""
        reading = self.setup.reading
        most = reading and reading.number_of_things
        return read_query(query, self._words, allowed, most)

    def _mask_after(
        self, history: tuple[Answer, ...], given: Any
    ) -> tuple[Bool[np.ndarray, "queries"], str | None]:
        family, first = self.setup.family, self.setup.first_outcome
        return departures.mask_after(family, first, history, given)

    def _less_skipped(
        self, mask: Bool[np.ndarray, "queries"], skipped: frozenset[int]
    ) -> Bool[np.ndarray, "queries"]:
        if not skipped:
            return mask
        left = np.array(mask)
        left[sorted(skipped)] = False
        return left

    def _stopping(
        self,
        drafts: tuple[Draft, ...],
        after: State,
        reason: StopReason,
        before: State | None = None,
    ) -> Change:
        """A change with the alarm and the stop that it brings."""
        new_alarm = after.alarm is not None and (before is None or not before.alarm)
        if new_alarm:
            drafts = (*drafts, Draft(Kind.ALARMED, {"reason": after.alarm}))
        if before is not None and before.stopped:
            return Change(drafts, after)
        alarmed = after.alarm is not None and self.setup.on_alarm == "stop"
        if reason is _RUNNING and alarmed:
            reason = StopReason.ALARM
        after = dataclasses.replace(after, stop_reason=reason)
        if reason is not _RUNNING:
            body = {
                "reason": reason.name.lower(),
                "recommendation": after.recommendation,
            }
            drafts = (*drafts, Draft(Kind.STOPPED, body))
        return Change(drafts, after)


_RUNNING = StopReason.RUNNING


def _recorded(events: Sequence[Event], i: int) -> StopReason:
    """Whether the session stopped with event i, as was recorded."""
    for event in events[i + 1 :]:
        if event.kind is Kind.STOPPED:
            return StopReason[event.body["reason"].upper()]
        if event.kind is not Kind.ALARMED:
            break
    return _RUNNING
