"""A service in a process of its own, which can be killed and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

_PATIENCE = 180.0


class ServedFolder:
    """`icpe serve --open` over a folder of models, with sessions in SQLite.

    Args:
        models: the folder of models.
        folder: where the database and the log are.
    """

    def __init__(self, models: Path, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._models, self._folder = models, folder
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        words = ["serve", "--open", "--quiet", "--workers", "1"]
        words += ["--port", str(self.port), "--models", str(self._models)]
        words += ["--storage", f"sqlite:///{self._folder / 'sessions.db'}"]
        with open(self._folder / "log.txt", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "icpe.cli.main", *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}/healthz", timeout=5):
                    return
            except OSError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.3)

    def kill(self) -> None:
        """Ends it without a warning."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
