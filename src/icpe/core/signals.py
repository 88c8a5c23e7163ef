"""Signals that end a process: what is announced as kept is kept, and the end comes.

A program watches for Ctrl-C, SIGTERM and SIGHUP (`watching`). Each raises
`Interrupted` in the main thread, unless work that can stop and keep its state has
asked to be told instead (`PendingStops`). Compiled programs keep the main thread busy
for long, and libraries swallow exceptions, so a thread of its own sees to it that the
process ends soon.
"""

import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import NoReturn

from icpe.core import files, locks

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE = 1.5
"""Seconds in which an interrupted program may end by itself."""
_SHOW_CURSOR = "\x1b[?25h"


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int):
        super().__init__(signal.Signals(number).name)
        _watch.received, _watch.raised = number, True


class _Watch:
    """What the process knows of signals; there is one."""

    numbers: tuple[int, ...] = ()
    received: int | None = None
    raised = False
    at_once = False
    requests: "PendingStops | None" = None
    farewell: Callable[[], str] = staticmethod(lambda: "Interrupted.")


_watch = _Watch()


def exit_status() -> int:
    """What a process that was interrupted exits with: 130, 143 or 129."""
    return 128 + (_watch.received or signal.SIGINT)


def end_at_once() -> None:
    """The process is not to wait for other processes on its way out."""
    _watch.at_once = True


def ends_at_once() -> bool:
    """Whether the process is to `leave` as soon as all is said."""
    return _watch.raised or _watch.at_once


def was_interrupted() -> bool:
    """Whether `Interrupted` was raised, so that programs may still be in flight."""
    return _watch.raised


@contextlib.contextmanager
def saying_farewell(sentence: Callable[[], str]) -> Iterator[None]:
    """While it lasts, a process that is ended at once says this sentence."""
    before, _watch.farewell = _watch.farewell, sentence
    try:
        yield
    finally:
        _watch.farewell = before


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Turns signals that end a process into `Interrupted`, and sees to the end.

    Signals that the process was told to ignore, as by `nohup`, stay ignored. To be
    called in the main thread of a program, not of a library.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    handlers = {it: signal.getsignal(it) for it in _ENDING}
    numbers = tuple(it for it in _ENDING if handlers[it] is not signal.SIG_IGN)
    _watch.numbers, _watch.received, _watch.raised = numbers, None, False
    _watch.at_once = False
    threading.Thread(target=_see_to_the_end, args=(reader,), daemon=True).start()
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, handlers[number])
        signal.set_wakeup_fd(wakeup)
        _watch.numbers = ()
        os.close(writer)  # which ends the thread


@contextlib.contextmanager
def handed_over() -> Iterator[None]:
    """While it lasts, signals do what they usually do, for a server that has its own
    handlers."""
    numbers, _watch.numbers = _watch.numbers, ()
    handlers = {it: signal.getsignal(it) for it in numbers}
    for number in numbers:
        usual = signal.default_int_handler if number == signal.SIGINT else None
        signal.signal(number, usual or signal.SIG_DFL)
    wakeup = signal.set_wakeup_fd(-1) if numbers else -1
    try:
        yield
    finally:
        if numbers:
            signal.set_wakeup_fd(wakeup)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _watch.numbers = numbers


def _interrupt(number: int, frame: types.FrameType | None) -> NoReturn:
    interrupted = Interrupted(number)
    if _imports(frame):
        leave()  # modules that are interrupted turn it into errors of their own
    raise interrupted


def _imports(frame: types.FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _see_to_the_end(reader: int) -> None:
    """Reads the numbers of signals as they come, whatever the main thread does."""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while byte := pipe.read(1):
            if byte[0] not in _watch.numbers:
                continue
            _watch.received = byte[0]
            requests = _watch.requests
            if requests is not None and requests.takes_one():
                continue
            timer = threading.Timer(_GRACE, leave)
            timer.daemon = True
            timer.start()


def leave(status: int | None = None) -> NoReturn:
    """Ends the process now, without waiting for compiled programs in flight.

    The interpreter's own way out would tear down what they are using.

    Args:
        status: the exit status; that of the signal if None, with a farewell.
    """
    for path in (*files.in_flight, *locks.held):
        with contextlib.suppress(OSError):
            path.unlink()
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr.isatty():
            sys.stderr.write(_SHOW_CURSOR)
        if status is None:
            sys.stderr.write(f"icpe: {_watch.farewell()}\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(exit_status() if status is None else status)


class PendingStops:
    """Turns the first signal into a request to stop, the second into `Interrupted`.

    Only Ctrl-C where no program watches for signals. Before `ready` is set there is
    nothing to keep, and the first signal interrupts.

    Args:
        say: hears at once what will happen; in a thread of its own.
    """

    def __init__(self, say: Callable[[str], None] | None = None):
        self.reason: str | None = None
        self.ready = False
        self._taken = self._said = False
        self._lock = threading.Lock()
        self._say = say or _say
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "PendingStops":
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in _watch.numbers or (signal.SIGINT,):
            handler = signal.getsignal(number)
            if handler is not signal.SIG_IGN:
                self._previous[number] = handler
                signal.signal(number, self._note)
        _watch.requests = self if _watch.numbers else None
        return self

    def __exit__(self, *_: object) -> None:
        if self.reason is not None and _watch.requests is self:
            self._tell()  # the work may end before the thread gets to it
        _watch.requests = None
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def takes_one(self) -> bool:
        """Whether the signal that has just come is taken for a request; says so."""
        if not self.ready or self._taken:
            return False
        self._taken = True
        self._tell()
        return True

    def _tell(self) -> None:
        with self._lock:
            if self._said:
                return
            self._said = True
        self._say(
            "Stopping after the iterations in flight, with a checkpoint; once more "
            "ends it at once."
        )

    def _note(self, number: int, _frame: object) -> None:
        if not self.ready or self.reason is not None:
            raise Interrupted(number)
        _watch.received, self.reason = number, "interrupted"
        if not _watch.numbers:  # no thread will say it
            self._tell()


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        print(f"icpe: {sentence}", file=sys.stderr, flush=True)
