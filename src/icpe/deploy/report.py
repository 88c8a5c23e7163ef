"""The report of a session: what was asked, answered and believed, and why it stopped.

It holds all events, so that anyone with the artifact can go through the session again
and see whether every question, belief and stop comes out the same, bit for bit.
"""

import copy
import itertools
import json
from collections.abc import Sequence
from typing import Any

from icpe.artifact.certificate import digest
from icpe.core.errors import IcpeError, InvalidParameterError
from icpe.deploy.events import Draft, Event, Kind, effective
from icpe.deploy.session_rules import SessionRules
from icpe.deploy.session_state import Answer, Change, State, complete
from icpe.portable.reading import as_array

FORMAT, VERSION = "icpe session report", 1
_LATER = ("hypotheses", "nothing_known", "units")
"""What the first reports of this version do not have."""


def session_report(
    session: str, rules: SessionRules, events: Sequence[Event], *, whole: bool = False
) -> dict[str, Any]:
    """The report of a session with these events, as JSON-compatible values.

    Args:
        session: its id.
        rules: of the session.
        events: of the session, first to last.
        whole: with hypotheses that the user's problem does not have, and without
            answers in words, as in reports that do not have the user's units.
    """
    created = events[0].body
    steps, state = _steps(rules, events, whole)
    report = {
        "format": FORMAT,
        "version": VERSION,
        "session": session,
        **{name: created.get(name) for name in ("model", "artifact", "family")},
        "request": created["request"],
        "operating_point": created["operating_point"],
        "certificate": created["certificate"],
        "versions": created.get("versions"),
        "begun": events[0].time,
        "ended": events[-1].time,
        "units": created.get("units"),
        "hypotheses": _names(rules, whole),
        "steps": steps,
        "result": _result(rules, state),
        "nothing_known": rules.nothing_known(state),
        "events": [event.to_dict() for event in events],
    }
    return {**report, "digest": digest(report)}


def report_problems(report: Any, rules: SessionRules) -> list[str]:
    """What of a report does not come out again, a sentence each; none if all does.

    Args:
        report: as `read_report` gives it.
        rules: made from the report's first event and the artifact.
    """
    events = [Event.from_dict(it) for it in report["events"]]
    earlier = "units" not in report
    problems = _event_problems(rules, events, earlier)
    if problems:
        return problems
    again = session_report(report["session"], rules, events, whole=earlier)
    again = json.loads(json.dumps(again, allow_nan=False))
    if earlier and again["result"]["alarm"] and report["result"].get("alarm"):
        for name in ("alarm", "certificate_lost"):
            again["result"][name] = report["result"].get(name)
    return [
        f"{name} is not what comes out when the session is gone through again"
        for name in again
        if name != "digest"
        and not (name in _LATER and name not in report)
        and report.get(name) != again[name]
    ]


def read_report(values: Any) -> dict[str, Any]:
    """A report that was read from JSON, if it is whole.

    Raises:
        InvalidParameterError: it is no report, or has changed since it was made.
    """
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InvalidParameterError("The file is not the report of a session as JSON.")
    if values.get("version") != VERSION:
        raise InvalidParameterError(
            f"The report has version {values.get('version')!r}, and this icpe reads "
            f"{VERSION}; use the icpe that made it."
        )
    rest = {name: it for name, it in values.items() if name != "digest"}
    try:
        intact = values.get("digest") == digest(rest)
        events = [Event.from_dict(it) for it in values["events"]]
        numbers = [it.number for it in events]
        begun = events[0].kind is Kind.CREATED
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise InvalidParameterError(
            "The report is damaged: its events cannot be read."
        ) from None
    if not (intact and begun and numbers == list(range(len(events)))):
        raise InvalidParameterError(
            "The report has changed since it was made: its digest does not fit."
        )
    return copy.deepcopy(values)


def _steps(
    rules: SessionRules, events: Sequence[Event], whole: bool
) -> tuple[list[dict[str, Any]], State]:
    """Each answer that counts, with the belief after it."""
    live, kept = rules.live, effective(events)
    state = complete(rules.rebuild(kept[:1]), live)
    steps = [{"event": 0, **_belief(rules, state, whole)}]
    asked: dict[int, float] = {}
    words = rules.setup.words
    for i, event in enumerate(kept[1:], 1):
        after = itertools.takewhile(lambda it: it.kind in _FOLLOWING, kept[i + 1 :])
        state = complete(rules.follow(state, [event, *after]), live)
        if event.kind is Kind.ASKED:
            asked |= dict.fromkeys(event.body["queries"], event.time)
        if event.kind is Kind.TOLD:
            answer = state.history[-1]
            steps.append(
                {
                    "event": event.number,
                    "query": answer.query,
                    "name": words.query_name(answer.query),
                    "outcome": answer.outcome.tolist(),
                    "told": answer.told,
                    **({} if whole else {"words": _words(rules, answer)}),
                    "asked": answer.asked,
                    "asked_at": asked.get(answer.query),
                    "told_at": event.time,
                    **_belief(rules, state, whole),
                }
            )
    return steps, complete(rules.rebuild(events), live)


def _words(rules: SessionRules, answer: Answer) -> str | None:
    """What was answered, where that was no plain number."""
    if not rules.setup.has_words:
        return None
    return rules.setup.in_words(answer.query, answer.outcome)


_FOLLOWING = (Kind.ALARMED, Kind.STOPPED)


def _belief(rules: SessionRules, state: State, whole: bool) -> dict[str, Any]:
    posterior = state.posterior
    if not whole:
        posterior = rules.setup.shown_belief(posterior)
    return {
        "posterior": None if posterior is None else posterior.tolist(),
        "recommendation": state.recommendation,
    }


def _names(rules: SessionRules, whole: bool) -> list[str]:
    spec, reading = rules.setup.words, rules.setup.reading
    number = spec.num_hypotheses
    if reading is not None and not whole:
        number = reading.number_of_things
    return [spec.hypothesis_name(i) for i in range(number)]


def _result(rules: SessionRules, state: State) -> dict[str, Any]:
    return {
        "status": str(state.status),
        "stop_reason": state.stop_reason.name.lower(),
        "stop_sentence": state.stop_reason.sentence,
        "recommendation": state.recommendation,
        "recommendation_name": rules.setup.words.hypothesis_name(state.recommendation),
        "num_queries": len(state.history),
        "certified": rules.certificate(state) is not None,
        "certificate_lost": rules.certificate_lost(state),
        "alarm": state.alarm,
    }


def _event_problems(
    rules: SessionRules, events: Sequence[Event], earlier: bool
) -> list[str]:
    """Where the rules make other events of what was told.

    An earlier icpe said in other words why there was an alarm.
    """
    live = rules.live
    change = complete(rules.begin(), live)
    i = 1
    while True:
        for draft in change.drafts:
            if i >= len(events) or not _same(draft, events[i], earlier):
                recorded = events[i].kind if i < len(events) else "missing"
                return [
                    f"event {i} is {recorded} in the report, and something else comes "
                    f"out: {draft.kind} with {_shown(draft.body)}"
                ]
            i += 1
        if i >= len(events):
            return []
        try:
            change = complete(_rule(rules, change.state, events, i), live)
        except IcpeError as error:
            return [f"event {i} ({events[i].kind}) is not possible there: {error}"]
        if not change.drafts:
            return [f"event {i} ({events[i].kind}) does not come out there"]


def _rule(rules: SessionRules, state: State, events: Sequence[Event], i: int):
    event = events[i]
    body = event.body
    if event.kind is Kind.ASKED:
        return rules.ask(state, len(state.open_queries) + len(body["queries"]))
    if event.kind is Kind.TOLD:
        told = body.get("told")
        if told is None:  # an array is the family's own outcome, not an answer
            told = as_array(body["outcome"])
        given = (body["query"], told, body["terminated"], body["query_mask"])
        return rules.tell(state, *given)
    if event.kind is Kind.SKIPPED:
        return rules.skip(state, body["query"])
    if event.kind is Kind.UNDONE:
        return rules.undo(state, events[:i])
    if event.kind is Kind.CLOSED:
        return rules.close(state)
    return _nothing(state)


def _nothing(state: State):
    """The rule of an event that only ever follows from another."""
    yield from ()
    return Change((), state)


def _same(draft: Draft, event: Event, earlier: bool) -> bool:
    reworded = earlier and draft.kind is Kind.ALARMED
    return draft.kind is event.kind and (reworded or draft.body == event.body)


def _shown(body: dict[str, Any]) -> str:
    text = str(body)
    return text if len(text) <= 200 else f"{text[:200]}.."
