"""Worker processes behind one socket: started, watched, replaced and stopped.

Everything is imported before the first worker is forked, so that one that dies is
replaced at once: what takes long is to import, not to start. Nothing here touches a
device or starts a thread before it forks.
"""

import contextlib
import errno
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from icpe.core.errors import IcpeError, InvalidParameterError
from icpe.service.sharing import WAITING

_TICK = 0.1
_EARLY = 2.0
"""A worker that lives shorter than this many seconds was not able to start."""
_MOST_EARLY = 5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FROM_OUTSIDE = (*_ENDING, signal.SIGKILL)
_PORT_SECONDS = 2.0
"""How long a port may still be held by workers whose service was killed."""
_ADVICE = {
    errno.EADDRINUSE: "another program does, perhaps another icpe serve; stop that "
    "one, or choose another --port",
    errno.EACCES: "only administrators may use this port; choose a --port above 1023",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose another --host",
}


class Workers:
    """Several processes that run the same function.

    Args:
        number: how many there are.
        work: what each does, in the process of its own; it ends on SIGTERM.
        patience: seconds that workers get to end by themselves.
        beside: is done once in a further process, which is not replaced.
        beside_ended: is called here when that process has ended, however it did.
    """

    def __init__(
        self,
        number: int,
        work: Callable[[], None],
        patience: float,
        beside: Callable[[], None] | None = None,
        beside_ended: Callable[[], None] = lambda: None,
    ):
        self._number, self._work, self._patience = number, work, patience
        self._beside, self._beside_ended = beside, beside_ended
        self._beside_pid: int | None = None
        self._begun: dict[int, float] = {}
        self._early = 0
        self._stop = False

    def run(self) -> None:
        """Until a signal asks to stop, and all workers have ended.

        Raises:
            IcpeError: workers die as soon as they are started.
        """
        before = {it: signal.signal(it, self._asked_to_stop) for it in _ENDING}
        # What was imported stays, so no worker need ever look through it for garbage,
        # which would halt all of its requests for a third of a second.
        gc.collect()
        gc.freeze()
        try:
            if self._beside is not None:
                self._beside_pid = self._start(self._beside)
            while not self._stop and self._early < _MOST_EARLY:
                while len(self._begun) < self._number:
                    self._begun[self._start(self._work)] = time.monotonic()
                time.sleep(_TICK)
                self._bury()
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)
            gc.unfreeze()
        if self._early >= _MOST_EARLY and not self._stop:
            raise IcpeError(
                "The workers of the service end as soon as they are started; what "
                "they said above says why."
            )

    def _asked_to_stop(self, number: int, frame: object) -> None:
        self._stop = True

    def _start(self, work: Callable[[], None]) -> int:
        """The number of a new process that does this."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        parent, pid = os.getpid(), os.fork()
        if pid:
            return pid
        status = 1
        try:
            for number in _ENDING:
                signal.signal(number, signal.SIG_DFL)
            threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
            work()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException as error:
            print(f"icpe: a worker failed: {error!r}", file=sys.stderr)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(status)

    def _bury(self) -> None:
        """Takes notice of processes that have ended."""
        if self._beside_pid is not None and os.waitpid(self._beside_pid, os.WNOHANG)[0]:
            self._beside_pid = None
            self._beside_ended()
        for pid in list(self._begun):
            with contextlib.suppress(ChildProcessError):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended:
                    continue
                lived = time.monotonic() - self._begun.pop(pid)
                # One that somebody killed could start; one that gave up could not.
                by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
                failed = lived < _EARLY and by not in _FROM_OUTSIDE
                self._early = self._early + 1 if failed else 0
                if by is not None and by not in _FROM_OUTSIDE:
                    name = signal.Signals(by).name
                    print(f"icpe: a worker died of {name}.", file=sys.stderr)

    def _end_all(self) -> None:
        if self._beside_pid is not None:  # it keeps nothing that matters
            os.kill(self._beside_pid, signal.SIGKILL)
            os.waitpid(self._beside_pid, 0)
            self._beside_pid = None
        for pid in self._begun:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + self._patience
        while self._begun and time.monotonic() < end:
            self._bury()
            time.sleep(_TICK / 5)
        for pid in self._begun:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while self._begun:
            self._bury()
            time.sleep(_TICK / 5)


def _end_with(parent: int) -> None:
    """Ends this worker when the process that watches it is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(0.25)
    os.kill(os.getpid(), signal.SIGTERM)


def listening(host: str, port: int) -> socket.socket:
    """A socket that all workers accept connections from.

    Raises:
        InvalidParameterError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    it = socket.socket(family, socket.SOCK_STREAM)
    it.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end = time.monotonic() + _PORT_SECONDS
    while True:
        try:
            it.bind((host, port))
            it.listen(WAITING)
            break
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < end:
                time.sleep(_TICK)
                continue
            it.close()
            why = _ADVICE.get(error.errno or 0, error.strerror or str(error))
            raise InvalidParameterError(
                f"The service cannot listen on {host}:{port}: {why}."
            ) from error
    it.set_inheritable(True)
    return it
