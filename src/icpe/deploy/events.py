"""What happens in a session, as records that are only ever added to.

The events of a session, in order, are all there is: its state is what the rules of
`icpe.deploy.session_rules` make of them.
"""

import dataclasses
import enum
import time
from collections.abc import Sequence
from typing import Any


class Kind(enum.StrEnum):
    """What an event is about."""

    CREATED = "created"
    ASKED = "asked"
    TOLD = "told"
    SKIPPED = "skipped"
    UNDONE = "undone"
    ALARMED = "alarmed"
    STOPPED = "stopped"
    CLOSED = "closed"


class Status(enum.StrEnum):
    """Where a session stands after an event."""

    OPEN = "open"
    STOPPED = "stopped"
    CLOSED = "closed"


@dataclasses.dataclass(frozen=True)
class Draft:
    """An event that is not stored yet: its kind, and JSON-compatible values."""

    kind: Kind
    body: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Event:
    """One stored event of a session.

    Attributes:
        number: from 0, without gaps.
        kind: what it is about.
        time: seconds since 1970, when it was made.
        body: JSON-compatible values that belong to the kind.
        status: where the session stands after it.
        token: by which a client that repeats itself is recognized, at most once in a
            session.
    """

    number: int
    kind: Kind
    time: float
    body: dict[str, Any]
    status: Status
    token: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Event":
        """From the values of `to_dict`."""
        return Event(
            number=values["number"],
            kind=Kind(values["kind"]),
            time=values["time"],
            body=values["body"],
            status=Status(values["status"]),
            token=values.get("token"),
        )


def numbered(
    drafts: Sequence[Draft], first: int, status: Status, token: str | None = None
) -> tuple[Event, ...]:
    """Drafts as events from a number on.

    The token goes with the first that is no question, if there is one.
    """
    now = time.time()
    others = [i for i, draft in enumerate(drafts) if draft.kind is not Kind.ASKED]
    marked = (others or [0])[0]
    return tuple(
        Event(
            first + i,
            draft.kind,
            now,
            draft.body,
            status,
            token if i == marked else None,
        )
        for i, draft in enumerate(drafts)
    )


def effective(events: Sequence[Event]) -> list[Event]:
    """The events that count: without what was undone, and what followed from it."""
    kept: list[Event] = []
    for event in events:
        if event.kind is Kind.UNDONE:
            kept = [it for it in kept if it.number < event.body["event"]]
        else:
            kept.append(event)
    return kept
