"""The tables of sessions, and how those of an older version become the present ones."""

from collections.abc import Callable

import sqlalchemy as sa

from icpe.core.errors import StorageError

METADATA = sa.MetaData()

VERSION = sa.Table(
    "icpe_schema", METADATA, sa.Column("version", sa.Integer, nullable=False)
)
SESSIONS = sa.Table(
    "icpe_sessions",
    METADATA,
    sa.Column("id", sa.String(100), primary_key=True),
    sa.Column("created", sa.Double, nullable=False, index=True),
    sa.Column("model", sa.String(200)),
    sa.Column("artifact", sa.String(100), nullable=False),
)
EVENTS = sa.Table(
    "icpe_events",
    METADATA,
    sa.Column("session", sa.ForeignKey("icpe_sessions.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("token", sa.String(200)),
    sa.UniqueConstraint("session", "token"),
)
TOKENS = sa.Table(
    "icpe_tokens",
    METADATA,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("digest", sa.String(100), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("scopes", sa.String(100), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double),
    sa.Column("revoked", sa.Double),
)


def _add_sessions(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[SESSIONS, EVENTS])


def _add_tokens(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[TOKENS])


STEPS: tuple[Callable[[sa.Connection], None], ...] = (_add_sessions, _add_tokens)
"""Step i makes tables of version i + 1 from those of version i, and is never changed;
whoever changes a table adds a step."""


def migrate(engine: sa.Engine) -> None:
    """Makes the tables, or brings them up to date, in one transaction.

    Raises:
        StorageError: they are of a newer version.
    """
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            # Two processes that start at once take turns.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        METADATA.create_all(connection, tables=[VERSION])
        found = connection.execute(sa.select(VERSION.c.version)).scalar()
        if found is None:
            connection.execute(sa.insert(VERSION).values(version=0))
        version = found or 0
        if version > len(STEPS):
            raise StorageError(
                f"The storage has tables of version {version}, newer than "
                f"{len(STEPS)}, which this icpe reads; install a newer icpe."
            )
        for step in STEPS[version:]:
            step(connection)
        if version < len(STEPS):
            connection.execute(sa.update(VERSION).values(version=len(STEPS)))


_LOCK = 0x69637065
