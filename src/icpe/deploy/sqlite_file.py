"""The file of a SQLite database: opened with care, and noticed when it is moved.

SQLite keeps the newest transactions in a second file beside the first, its write-ahead
log. Without it they are lost. So a database that is moved while it is in use takes no
more events, and those in the log are copied into it first.
"""

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event as sa_event

from icpe.core.errors import StorageError

_BUSY_SECONDS = 20
_TRY_SECONDS = 0.001


def sqlite_engine(url: sa.URL) -> sa.Engine:
    """An engine on the file of a URL, which is made if there is none.

    Raises:
        StorageError: the file cannot be made or written, or its log is there alone.
    """
    assert url.database
    file = None if url.database.startswith("file:") else _File(Path(url.database))
    engine = sa.create_engine(
        url, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False}
    )
    sa_event.listen(engine, "connect", _prepare)
    sa_event.listen(engine, "begin", _begin)
    if file is not None:
        file.check_usable()
        sa_event.listen(engine, "do_connect", file.before_connecting)
        sa_event.listen(engine, "connect", file.after_connecting)
        sa_event.listen(engine, "checkout", file.before_use)
        sa_event.listen(engine, "close", file.before_closing)
    return engine


class _File:
    """The place of a database, and which file lay there when it was first opened."""

    def __init__(self, path: Path):
        self._path = path.absolute()
        self._known: tuple[int, int] | None = None

    def check_usable(self) -> None:
        """Raises one sentence where SQLite would say less, or lose something."""
        path, log = self._path, Path(f"{self._path}-wal")
        if not path.parent.is_dir():
            raise _unusable(path, f"there is no folder {path.parent}; make it")
        if path.is_dir():
            raise _unusable(path, "that is a folder; name a file in it")
        if not _size(path) and _size(log):
            raise StorageError(
                f"The storage of sessions {path} is gone, but {log.name} is still "
                "there and holds its last answers; put the file back beside it, or "
                "move both, before anything else."
            )
        writable = os.access(path if path.exists() else path.parent, os.W_OK)
        if not writable or not os.access(path.parent, os.W_OK):
            raise _unusable(path, "it or its folder is read-only; make both writable")

    def before_connecting(self, *_: Any) -> None:
        """Checks that a further connection does not make a new file."""
        self._check()

    def after_connecting(self, *_: Any) -> None:
        """Remembers which file it is."""
        if self._known is None:
            self._known = _identity(self._path)

    def before_use(self, connection: Any, *_: Any) -> None:
        """Checks that the file is where it was."""
        try:
            self._check()
        except StorageError:
            _save_log(connection)
            raise

    def before_closing(self, connection: Any, *_: Any) -> None:
        """SQLite itself would leave the log of a file that was moved as it is."""
        if _identity(self._path) != self._known:
            _save_log(connection)

    def _check(self) -> None:
        if self._known is not None and _identity(self._path) != self._known:
            raise StorageError(
                f"The storage of sessions {self._path.name} was moved, removed or "
                "replaced while it was in use, so nothing was added; put the file "
                "back, or start again with its new place."
            )


def _unusable(path: Path, why: str) -> StorageError:
    return StorageError(
        f"The storage of sessions sqlite:///{path} cannot be used: {why}, or name "
        "another file."
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _save_log(connection: Any) -> None:
    """Copies what was written into the database itself, wherever that is now."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _prepare(connection: Any, record: Any) -> None:
    """Transactions begin where we say, and end on the disk."""
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={_BUSY_SECONDS * 1000}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    """Takes the right to write at once, since asking for it later may be refused.

    SQLite itself would wait longer and longer between its tries, and a process whose
    neighbor writes much would hardly ever get its turn.
    """
    if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
        return
    raw = connection.connection.driver_connection
    assert raw is not None
    end = time.monotonic() + _BUSY_SECONDS
    raw.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                raw.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > end:
                    raise
            time.sleep(_TRY_SECONDS)
    finally:
        raw.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")
