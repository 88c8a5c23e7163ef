"""What clients do to a session, the same over the API and on the page."""

from collections.abc import Callable
from typing import Any, NamedTuple

from icpe.core.errors import SessionError
from icpe.deploy.events import Kind
from icpe.deploy.repeats import Repeatable
from icpe.deploy.session_state import Change, Steps
from icpe.service.sessions import Entry, Rule


class Action(NamedTuple):
    """A rule to be followed once, however often it is sent."""

    rule: Rule
    repeatable: Repeatable


class Told(NamedTuple):
    """An answer as a client gives it; see `icpe.Session.tell`."""

    query: Any
    outcome: Any
    terminated: bool = False
    query_mask: list[bool] | None = None


def asking(count: int) -> Action:
    """Has so many questions open."""
    return Action(lambda entry: entry.rules.ask(entry.state, count), Repeatable())


def telling(
    told: Callable[[Entry], Told],
    repeatable: Repeatable,
    *,
    unasked: bool = True,
    then_ask: int = 0,
) -> Action:
    """Takes in an answer.

    Args:
        told: the answer, which may need a look at the session to be read.
        repeatable: what a repeated call is known by.
        unasked: whether answers to questions that are not open are taken.
        then_ask: how many questions are to be open next.
    """

    def rule(entry: Entry) -> Steps[Change]:
        answer = told(entry)
        if not unasked:
            _check_open(entry, entry.rules.number(answer.query))
        change = yield from entry.rules.tell(entry.state, *answer)
        if not then_ask:
            return change
        more = yield from entry.rules.ask(change.state, then_ask)
        return Change((*change.drafts, *more.drafts), more.state)

    return Action(rule, repeatable)


def skipping(query: int | str | None, token: str | None) -> Action:
    """Withdraws an open question for good, the oldest if none is named."""
    return Action(
        lambda entry: entry.rules.skip(entry.state, query),
        Repeatable(token, Kind.SKIPPED, {"query": query}),
    )


def undoing(token: str | None) -> Action:
    """Takes back the last answer or skip."""
    return Action(
        lambda entry: entry.rules.undo(entry.state, entry.events),
        Repeatable(token, Kind.UNDONE),
    )


def closing(token: str | None) -> Action:
    """Takes nothing more."""
    return Action(
        lambda entry: entry.rules.close(entry.state), Repeatable(token, Kind.CLOSED)
    )


def _check_open(entry: Entry, query: int) -> None:
    state = entry.state
    if state.stopped and not state.open_queries:
        return  # which the rules complain about
    expected = state.open_queries or (state.query,)
    if query not in expected:
        name = entry.rules.setup.words.query_name
        names = ", ".join(map(name, expected))
        raise SessionError(
            f"query {name(query)} is not open, so this answer may be one that was told "
            f"before; open is {names}. To tell it all the same, say unasked."
        )
