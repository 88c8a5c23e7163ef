"""One writer per output: a lock beside the file says who writes it, since when."""

import contextlib
import fcntl
import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from icpe.core.errors import InUseError

held: set[Path] = set()
"""Lock files of this process, for whoever ends it at once."""


@contextlib.contextmanager
def locked(path: Path, purpose: str) -> Iterator[None]:
    """Holds the lock of an output while its content is made and written.

    The system gives the lock up when the process ends, however it ends. Programs that
    do not ask for the lock are not stopped by it.

    Args:
        path: the output, which need not exist; links to one file share its lock.
        purpose: what it is held for, told to whoever is refused.

    Raises:
        InUseError: another process, or another thread, holds it.
    """
    lock = lock_path(path)
    handle = _acquire(lock, path)
    held.add(lock)
    try:
        _describe_holder(handle, purpose)
        yield
    finally:
        held.discard(lock)
        lock.unlink(missing_ok=True)
        os.close(handle)


def lock_path(path: Path) -> Path:
    """The lock file of an output."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}.lock")


def _acquire(lock: Path, path: Path) -> int:
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:  # about the output, which is what people know
            raise type(error)(error.errno, error.strerror, str(path)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise _in_use(lock, path) from error
        except OSError:
            return handle  # the file system has no locks, so nobody can be refused
        if _is_at(handle, lock):
            return handle
        os.close(handle)  # its holder has just removed it


def _is_at(handle: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False


def _describe_holder(handle: int, purpose: str) -> None:
    record = {
        "process": os.getpid(),
        "host": platform.node(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "purpose": purpose,
    }
    os.ftruncate(handle, 0)
    with contextlib.suppress(OSError):  # a full disk does not make a lock less
        os.pwrite(handle, json.dumps(record).encode(), 0)


def _in_use(lock: Path, path: Path) -> InUseError:
    record: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        record = json.loads(lock.read_text())
    by = (
        f"process {record.get('process')} on {record.get('host')} since "
        f"{record.get('since')} ({record.get('purpose')})"
        if isinstance(record, dict) and record
        else "another process"
    )
    return InUseError(
        f"{path} is in use by {by}; wait until that has ended, or choose another file "
        f"(if there is no such process, remove {lock})."
    )
