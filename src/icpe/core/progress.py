"""Progress reporting; silent by default."""

import abc
import time
from collections.abc import Callable


class AbstractProgress(abc.ABC):
    """Receives one piece of long work at a time: start, advances, finish."""

    @abc.abstractmethod
    def start(self, label: str, total: int) -> None:
        """Work on `label` begins; it consists of `total` units."""

    @abc.abstractmethod
    def advance(self, amount: int) -> None:
        """Another `amount` units are done."""

    def note(self, text: str) -> None:  # noqa: B027
        """Something to show beside the work in flight; ignored by default."""

    @abc.abstractmethod
    def finish(self) -> None:
        """The work that was started is done, or was given up."""


class NoProgress(AbstractProgress):
    """Keeps silent."""

    def start(self, label: str, total: int) -> None: ...

    def advance(self, amount: int) -> None: ...

    def finish(self) -> None: ...


class LineProgress(AbstractProgress):
    """Writes a line now and then; none for work that is soon done."""

    def __init__(self, write: Callable[[str], None], seconds: float = 5.0):
        self._write, self._seconds = write, seconds

    def start(self, label: str, total: int) -> None:
        self._label, self._total, self._done, self._note = label, total, 0, ""
        self._last_line = time.monotonic()

    def advance(self, amount: int) -> None:
        """Writes a line if the last one was long ago."""
        self._done += amount
        if self._done == self._total:
            return
        if time.monotonic() - self._last_line >= self._seconds:
            self._last_line = time.monotonic()
            self._write(f"{self._label}: {self._done} of {self._total}{self._note}")

    def note(self, text: str) -> None:
        """Adds the text to the lines that follow."""
        self._note = f", {text}"

    def finish(self) -> None:
        """The result that follows says enough."""
