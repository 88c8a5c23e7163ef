"""A service in processes of its own, which tests may kill."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path


class RunningService:
    """`icpe serve` on a port of its own."""

    def __init__(self, storage: str, models: Path, log: Path, *words: str, workers=2):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log.open("wb")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "icpe.cli.main", "serve", "--open", "--quiet"),
                *("--storage", storage, "--models", str(models), "--rate", "0"),
                *("--port", str(self.port), "--workers", str(workers), *words),
            ],
            stdout=self._log,
            stderr=self._log,
        )

    def wait_until_ready(self, seconds: float = 120.0) -> None:
        wait_for(f"{self.url}/readyz", self.process, seconds)

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

    def stop(self, seconds: float = 60.0) -> int:
        """Asks it to end, and waits."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        finally:
            for worker in self.workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._log.close()


def wait_for(url: str, process: subprocess.Popen, seconds: float = 120.0) -> None:
    """Waits until a service that a process runs answers at a URL."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the service has ended"
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.2)
    raise TimeoutError(f"{url} does not answer")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def running_service(
    storage: str, models: Path, log: Path, *words: str, workers: int = 2
) -> Iterator[RunningService]:
    service = RunningService(storage, models, log, *words, workers=workers)
    try:
        service.wait_until_ready()
        yield service
    finally:
        service.stop()
