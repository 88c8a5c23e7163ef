"""Where the events of sessions are kept: the contract, and how a place is named.

- Events are only added. An event that was added is durable, and is there for every
  reader, before `append` returns.
- There is at most one event of each number in a session, and numbers have no gaps. Of
  several who add the same number one succeeds; the others get a `ConflictError` and
  have added nothing.
- What is added together is there together or not at all.
- A client's token occurs at most once in a session.
- Where a call fails with a `StorageError`, what was to be added may be there or not;
  whoever reads again knows.
"""

import abc
import dataclasses
import importlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

from icpe.core.errors import (
    ConflictError,
    InvalidParameterError,
    UnknownNameError,
    missing_extra,
)
from icpe.deploy.events import Event, Status

_IMPORTED_LATER = ("prometheus_client",)
"""Packages that read the environment when they are imported."""
_SQLITE = "sqlite:///"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclasses.dataclass(frozen=True)
class Summary:
    """One session in a list.

    Attributes:
        id: of the session.
        model: name of the model, where it was created by name.
        artifact: hash of the artifact that it is tied to.
        created: seconds since 1970.
        updated: the time of its last event.
        number: of events so far.
        status: where it stands.
    """

    id: str
    model: str | None
    artifact: str
    created: float
    updated: float
    number: int
    status: Status


@dataclasses.dataclass(frozen=True)
class AccessToken:
    """A bearer token of the service as it is stored: without its secret.

    Attributes:
        id: by which it is listed and revoked; a part of the token.
        digest: hash of the secret part.
        name: for people.
        scopes: what it allows.
        created: seconds since 1970.
        expires: likewise, None if never.
        revoked: when it was revoked, None if it was not.
    """

    id: str
    digest: str
    name: str
    scopes: tuple[str, ...]
    created: float
    expires: float | None = None
    revoked: float | None = None


class AbstractStorage(abc.ABC):
    """Sessions by id, each a list of events; see the contract above."""

    @abc.abstractmethod
    def append(self, session: str, events: Sequence[Event]) -> None:
        """Adds events with consecutive numbers; number 0 creates the session.

        Raises:
            ConflictError: the first number is not the next one, or a token is taken.
            StorageError: the place cannot be written to.
        """

    @abc.abstractmethod
    def read(self, session: str, start: int = 0) -> list[Event]:
        """The events from a number on; none if there is no such session.

        Raises:
            StorageError: the place cannot be read.
        """

    @abc.abstractmethod
    def sessions(
        self, limit: int, *, before: str | None = None, status: Status | None = None
    ) -> list[Summary]:
        """Sessions, the latest created first.

        Args:
            limit: the most sessions.
            before: id of a session; only those after it in this order.
            status: only sessions of this status.
        """

    @abc.abstractmethod
    def add_token(self, token: AccessToken) -> None:
        """Keeps an access token.

        Raises:
            ConflictError: there is one of that id.
        """

    @abc.abstractmethod
    def tokens(self) -> list[AccessToken]:
        """All access tokens, the oldest first."""

    @abc.abstractmethod
    def find_token(self, token: str) -> AccessToken | None:
        """The access token of that id."""

    @abc.abstractmethod
    def revoke_token(self, token: str, time: float) -> None:
        """Marks an access token as revoked, unless it is already.

        Raises:
            UnknownNameError: there is none of that id.
        """

    @abc.abstractmethod
    def check(self) -> None:
        """Raises StorageError unless it can be read and written now."""

    @abc.abstractmethod
    def close(self) -> None:
        """Gives up connections."""

    def append_all(
        self, batch: Sequence[tuple[str, Sequence[Event]]]
    ) -> list[Exception | None]:
        """Adds to several sessions; for each of them what `append` raises, if it does.

        One that fails does not keep the others from being added.
        """
        failures: list[Exception | None] = []
        for session, events in batch:
            try:
                self.append(session, events)
                failures.append(None)
            except Exception as error:
                failures.append(error)
        return failures


def open_storage(place: "str | AbstractStorage") -> AbstractStorage:
    """The storage that a URL names; one that is open already is given back.

    Args:
        place: `memory://`, `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`.

    Raises:
        InvalidParameterError: the URL names no storage.
        MissingExtraError: SQLAlchemy is not installed.
        StorageError: the database cannot be opened, or is of a newer version.
    """
    if isinstance(place, AbstractStorage):
        return place
    if not isinstance(place, str) or "://" not in place:
        raise InvalidParameterError(
            "storage must be sqlite:///FILE, postgresql://USER@HOST/DATABASE or "
            f"memory://; got {place!r}."
        )
    if place == "memory://":
        from icpe.deploy.memory import MemoryStorage

        return MemoryStorage()
    check_serve_extra("sqlalchemy", "A storage in a database")
    from icpe.deploy.sql import SqlStorage

    return SqlStorage(place)


def is_missing(place: "str | AbstractStorage") -> bool:
    """Whether a place is a file of SQLite that is not there, and would be made."""
    if not isinstance(place, str) or not place.startswith(_SQLITE):
        return False
    path = place.removeprefix(_SQLITE).partition("?")[0]
    return not path.startswith("file:") and not Path(path).exists()


def check_serve_extra(package: str, purpose: str) -> None:
    """Raises one sentence unless a package of the extra `serve` is installed.

    It is imported, since a part of a package may be missing, unless its import is for
    later.
    """
    try:
        found = importlib.util.find_spec(package) is not None
        if found and package not in _IMPORTED_LATER:
            importlib.import_module(package)
    except ImportError:
        found = False
    if not found:
        raise missing_extra(f"{purpose} needs {package}", "serve")


def check_session_id(session: object) -> str:
    """The id, if it is one.

    Raises:
        InvalidParameterError: it is not.
    """
    if not isinstance(session, str) or not _ID.fullmatch(session):
        raise InvalidParameterError(
            "id must be 1 to 100 letters a to z or A to Z, digits, dots, hyphens or "
            f"underscores, beginning with a letter or digit; got {session!r}."
        )
    return session


def check_consecutive(events: Sequence[Event]) -> None:
    """Raises ValueError unless there are events and their numbers follow each other."""
    numbers = [event.number for event in events]
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise ValueError(f"events to be added have numbers {numbers}")


def conflict(session: str, number: int) -> ConflictError:
    """The error of whoever comes second."""
    if number == 0:
        return ConflictError(f"There is a session {session!r} already; open that one.")
    return ConflictError(
        f"Somebody else has added event {number} to session {session!r} meanwhile, so "
        "nothing was added; look at the session again and retry."
    )


def unknown_token(token: str) -> UnknownNameError:
    """The error of a token's id that does not exist."""
    return UnknownNameError(
        f"There is no token {token!r}; icpe token list shows those there are."
    )
