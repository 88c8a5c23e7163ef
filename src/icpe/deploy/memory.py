"""Sessions in the memory of this process: for tests, and for services that forget."""

import dataclasses
import itertools
import threading
from collections.abc import Sequence

from icpe.core.errors import ConflictError
from icpe.deploy.events import Event, Status
from icpe.deploy.storage import (
    AbstractStorage,
    AccessToken,
    Summary,
    check_consecutive,
    conflict,
    unknown_token,
)


class MemoryStorage(AbstractStorage):
    """Keeps everything until the process ends."""

    def __init__(self):
        self._lock = threading.Lock()
        self._sessions: dict[str, list[Event]] = {}
        self._tokens: dict[str, AccessToken] = {}

    def append(self, session: str, events: Sequence[Event]) -> None:
        check_consecutive(events)
        with self._lock:
            there = self._sessions.get(session, [])
            used = {it.token for it in there if it.token is not None}
            number = events[0].number
            if number != len(there) or any(it.token in used for it in events):
                raise conflict(session, number)
            self._sessions[session] = [*there, *events]

    def read(self, session: str, start: int = 0) -> list[Event]:
        with self._lock:
            return self._sessions.get(session, [])[start:]

    def sessions(
        self, limit: int, *, before: str | None = None, status: Status | None = None
    ) -> list[Summary]:
        with self._lock:
            found = [summary(name, it) for name, it in self._sessions.items()]
        found.sort(key=lambda it: (it.created, it.id), reverse=True)
        if before is not None:
            later = itertools.dropwhile(lambda it: it.id != before, found)
            found = list(later)[1:]
        return [it for it in found if status in (None, it.status)][:limit]

    def add_token(self, token: AccessToken) -> None:
        with self._lock:
            if token.id in self._tokens:
                raise ConflictError(f"There is a token {token.id!r} already.")
            self._tokens[token.id] = token

    def tokens(self) -> list[AccessToken]:
        with self._lock:
            return sorted(self._tokens.values(), key=lambda it: it.created)

    def find_token(self, token: str) -> AccessToken | None:
        with self._lock:
            return self._tokens.get(token)

    def revoke_token(self, token: str, time: float) -> None:
        with self._lock:
            if token not in self._tokens:
                raise unknown_token(token)
            found = self._tokens[token]
            if found.revoked is None:
                self._tokens[token] = dataclasses.replace(found, revoked=time)

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass


def summary(session: str, events: Sequence[Event]) -> Summary:
    """The summary of a session with these events."""
    first, last = events[0], events[-1]
    return Summary(
        id=session,
        model=first.body.get("model"),
        artifact=first.body.get("artifact", ""),
        created=first.time,
        updated=last.time,
        number=last.number + 1,
        status=last.status,
    )
