"""Failures on the host, while a compiled program runs.

A program that calls Python, such as a simulator, reports what went wrong there as an
error of the device, at some later time. What really happened is kept here, and raised
in its place.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator

from icpe.core.errors import IcpeError

_kept: list[IcpeError] = []
_lock = threading.Lock()


class SimulatorError(IcpeError, RuntimeError):
    """A simulator on the host raised, or broke its contract."""


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a complaint of jax is about something that is not raised anyway."""
    return not (_kept and "callback failed" in record.getMessage())


logging.getLogger("jax._src.callback").addFilter(_is_news)


def keep_failure(error: IcpeError) -> None:
    """Keeps an error; the first of several counts."""
    with _lock:
        if not _kept:
            _kept.append(error)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Raises what a host callback raised, in place of the device's complaint."""
    with _lock:
        _kept.clear()
    try:
        yield
    except IcpeError:
        raise
    except Exception:  # jax has several kinds of errors for it
        with _lock:
            found = _kept.pop() if _kept else None
        if found is None:
            raise
        raise found from None
