"""A service in processes of its own, which can be killed and started again."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from support.ports import free_port


class RunningService:
    """`icpe serve --open` on a port of its own.

    Args:
        storage: URL of the storage of sessions.
        models: the folder of models.
        log: the file that its output is added to.
        words: further options.
        workers: how many processes serve.
    """

    def __init__(self, storage: str, models: Path, log: Path, *words: str, workers=2):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._command = [
            *(sys.executable, "-m", "icpe.cli.main", "serve", "--open", "--quiet"),
            *("--storage", storage, "--models", str(models), "--rate", "0"),
            *("--port", str(self.port), "--workers", str(workers), *words),
        ]
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it is ready."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True
            )
        wait_for(f"{self.url}/readyz", self.process)

    def workers(self) -> list[int]:
        """The processes that answer requests."""
        pid = self.process.pid
        found: list[int] = []
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            found = list(map(int, text.split()))
        return found

    def kill_one(self, choose) -> bool:
        """Kills a worker at once, if there is one."""
        workers = self.workers()
        if not workers:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(choose(workers), signal.SIGKILL)
            return True
        return False

    def kill(self) -> None:
        """Ends all of its processes without a warning."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds: float = 60.0) -> int:
        """Asks it to end, and waits."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        finally:
            self.kill()


def wait_for(url: str, process: subprocess.Popen, seconds: float = 300.0) -> None:
    """Waits until a service that a process runs answers at a URL."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the service has ended"
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.2)
    raise TimeoutError(f"{url} does not answer")


@contextlib.contextmanager
def running_service(
    storage: str, models: Path, log: Path, *words: str, workers: int = 2
) -> Iterator[RunningService]:
    """A service that is ready, and is asked to end afterwards."""
    service = RunningService(storage, models, log, *words, workers=workers)
    try:
        yield service
    finally:
        service.stop()
