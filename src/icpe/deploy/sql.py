"""Sessions in a database: SQLite for one machine, PostgreSQL for several.

Every change is one transaction, on SQLite with a write-ahead log that is flushed to
the disk before the transaction ends.
"""

import contextlib
import json
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql, sqlite

from icpe.core.errors import (
    ConflictError,
    InvalidParameterError,
    StorageError,
)
from icpe.deploy.events import Event, Kind, Status
from icpe.deploy.sql_schema import EVENTS, SESSIONS, TOKENS, migrate
from icpe.deploy.sqlite_file import sqlite_engine
from icpe.deploy.storage import (
    AbstractStorage,
    AccessToken,
    Summary,
    check_consecutive,
    conflict,
    unknown_token,
)

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_ONE_EVENT = sa.select(EVENTS.c.number).where(
    EVENTS.c.session == sa.bindparam("of_session"),
    EVENTS.c.number == sa.bindparam("of_number"),
)
_EVENTS_FROM = (
    sa.select(EVENTS)
    .where(
        EVENTS.c.session == sa.bindparam("of_session"),
        EVENTS.c.number >= sa.bindparam("from_number"),
    )
    .order_by(EVENTS.c.number)
)


class SqlStorage(AbstractStorage):
    """Sessions in the database of a URL, whose tables are made or brought up to date.

    Raises:
        InvalidParameterError: the URL is malformed or names another kind of database.
        StorageError: the database cannot be opened, or is of a newer version.
    """

    def __init__(self, url: str):
        self._engine = engine = _engine(url)
        insert = sqlite.insert if engine.dialect.name == "sqlite" else postgresql.insert
        # Made once: to make a statement takes longer than to execute it.
        self._adding = {
            table: insert(table)
            .on_conflict_do_nothing()
            .returning(*table.primary_key.columns)
            for table in (SESSIONS, EVENTS, TOKENS)
        }
        self._finalizer = weakref.finalize(self, engine.dispose)
        # Named here alone: what goes wrong later is told to clients of a service.
        place = engine.url.set(drivername=engine.dialect.name)
        with _explained(f" in {place.render_as_string()}"):
            migrate(engine)

    def append(self, session: str, events: Sequence[Event]) -> None:
        [failure] = self.append_all([(session, events)])
        if failure is not None:
            raise failure

    def append_all(
        self, batch: Sequence[tuple[str, Sequence[Event]]]
    ) -> list[Exception | None]:
        """In one transaction, which costs one flush of the disk for all of them."""
        for _, events in batch:
            check_consecutive(events)
        failures: list[Exception | None] = [None] * len(batch)
        # In one order everywhere, so that no two transactions wait for each other.
        order = sorted(range(len(batch)), key=lambda i: (batch[i][0], i))
        try:
            with _explained(), self._engine.begin() as connection:
                for i in order:
                    session, events = batch[i]
                    if not self._added(connection, session, events):
                        failures[i] = conflict(session, events[0].number)
        except StorageError as error:
            return [error] * len(batch)
        return failures

    def read(self, session: str, start: int = 0) -> list[Event]:
        place = {"of_session": session, "from_number": start}
        return [_event(row) for row in self._rows(_EVENTS_FROM, place)]

    def sessions(
        self, limit: int, *, before: str | None = None, status: Status | None = None
    ) -> list[Summary]:
        last = EVENTS.alias("last")
        newest = (
            sa.select(sa.func.max(EVENTS.c.number))
            .where(EVENTS.c.session == SESSIONS.c.id)
            .scalar_subquery()
        )
        query = (
            sa.select(SESSIONS, last.c.number, last.c.time, last.c.status)
            .select_from(SESSIONS)
            .join(last, last.c.session == SESSIONS.c.id)
            .where(last.c.number == newest)
            .order_by(SESSIONS.c.created.desc(), SESSIONS.c.id.desc())
            .limit(limit)
        )
        if status is not None:
            query = query.where(last.c.status == str(status))
        if before is not None:
            start = (
                sa.select(SESSIONS.c.created)
                .where(SESSIONS.c.id == before)
                .scalar_subquery()
            )
            query = query.where(
                (SESSIONS.c.created < start)
                | ((SESSIONS.c.created == start) & (SESSIONS.c.id < before))
            )
        return [
            Summary(
                id=row.id,
                model=row.model,
                artifact=row.artifact,
                created=row.created,
                updated=row.time,
                number=row.number + 1,
                status=Status(row.status),
            )
            for row in self._rows(query)
        ]

    def add_token(self, token: AccessToken) -> None:
        values = {**vars(token), "scopes": " ".join(token.scopes)}
        with _explained(), self._engine.begin() as connection:
            if not self._inserted(connection, TOKENS, values):
                raise ConflictError(f"There is a token {token.id!r} already.")

    def tokens(self) -> list[AccessToken]:
        query = sa.select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id)
        return [_access_token(row) for row in self._rows(query)]

    def find_token(self, token: str) -> AccessToken | None:
        rows = self._rows(sa.select(TOKENS).where(TOKENS.c.id == token))
        return _access_token(rows[0]) if rows else None

    def revoke_token(self, token: str, time: float) -> None:
        with _explained(), self._engine.begin() as connection:
            found = connection.execute(
                sa.select(TOKENS.c.revoked).where(TOKENS.c.id == token)
            ).all()
            if not found:
                raise unknown_token(token)
            connection.execute(
                sa.update(TOKENS)
                .where(TOKENS.c.id == token, TOKENS.c.revoked.is_(None))
                .values(revoked=time)
            )

    def check(self) -> None:
        with _explained(), self._engine.begin() as connection:
            connection.execute(sa.select(sa.literal(1)))

    def close(self) -> None:
        self._finalizer()

    def _rows(self, query: Any, values: dict[str, Any] | None = None) -> list[Any]:
        with _explained(), self._engine.connect() as connection:
            reading = connection.execution_options(isolation_level="AUTOCOMMIT")
            return list(reading.execute(query, values))

    def _added(
        self, connection: sa.Connection, session: str, events: Sequence[Event]
    ) -> bool:
        """Adds events unless others were there before."""
        first = events[0]
        if first.number == 0:
            values = {
                "id": session,
                "created": first.time,
                "model": first.body.get("model"),
                "artifact": first.body.get("artifact", ""),
            }
            if not self._inserted(connection, SESSIONS, values):
                return False
        else:
            place = {"of_session": session, "of_number": first.number - 1}
            if connection.execute(_ONE_EVENT, place).first() is None:
                return False
        if len(events) == 1:
            return self._inserted(connection, EVENTS, _row(session, first))
        together = connection.begin_nested()
        for event in events:
            if not self._inserted(connection, EVENTS, _row(session, event)):
                together.rollback()
                return False
        together.commit()
        return True

    def _inserted(
        self, connection: sa.Connection, table: sa.Table, values: dict[str, Any]
    ) -> bool:
        """Adds a row, unless there is one that it must differ from."""
        return connection.execute(self._adding[table], values).first() is not None


def _row(session: str, event: Event) -> dict[str, Any]:
    return {
        "session": session,
        "number": event.number,
        "kind": str(event.kind),
        "time": event.time,
        "body": json.dumps(event.body, allow_nan=False, separators=(",", ":")),
        "status": str(event.status),
        "token": event.token,
    }


def _event(row: Any) -> Event:
    return Event(
        number=row.number,
        kind=Kind(row.kind),
        time=row.time,
        body=json.loads(row.body),
        status=Status(row.status),
        token=row.token,
    )


def _access_token(row: Any) -> AccessToken:
    values = row._asdict()
    return AccessToken(**values | {"scopes": tuple(row.scopes.split())})


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
        driver = _DRIVERS[parsed.drivername]
    except (exc.ArgumentError, ValueError, KeyError):
        raise InvalidParameterError(
            "storage must be sqlite:///FILE, postgresql://USER@HOST/DATABASE or "
            f"memory://; got one that begins with {url.partition(':')[0]!r}."
        ) from None
    parsed = parsed.set(drivername=driver)
    if driver != "sqlite":
        return sa.create_engine(
            parsed,
            pool_pre_ping=True,
            pool_size=4,
            max_overflow=4,
            connect_args={"connect_timeout": 5, "client_encoding": "utf8"},
        )
    if not parsed.database or parsed.database == ":memory:":
        raise InvalidParameterError(
            "storage sqlite:// needs a file, as in sqlite:///trial.db; for sessions "
            "that are forgotten use memory://."
        )
    return sqlite_engine(parsed)


@contextlib.contextmanager
def _explained(where: str = "") -> Iterator[None]:
    """Turns what goes wrong in a database into one sentence."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError, sqlite3.Error) as error:
        cause = getattr(error, "orig", None) or error
        problem = " ".join(str(cause).split())
        problem = problem.partition(" Is the server running ")[0].rstrip(".?")
        raise StorageError(
            f"The storage of sessions{where} cannot be used now: {problem}; fix that "
            "and try again."
        ) from error
