"""What the commands write: tables, bars, progress and JSON."""

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from icpe.core.distributed import leads
from icpe.core.progress import AbstractProgress, LineProgress, NoProgress

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "·▁▂▃▄▅▆▇█"
_SECONDS_BETWEEN_LINES = 5.0
_LONGEST_TEXT = 300
_WIDEST, _USUAL_WIDTH = 1000, 80


class ResultConsole(Console):
    """A console that never cuts a number, and tells when its reader has gone."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints; a table runs over the edge of a terminal that is less than usual."""
        tables = [it for it in objects if isinstance(it, Table)]
        wide = self.options.update(max_width=_WIDEST)
        needed = [
            min(_USUAL_WIDTH, Measurement.get(self, wide, table).maximum)
            for table in tables
        ]
        own = self._width
        self._width = max((self.width, *needed))
        try:
            super().print(*objects, **options)
        finally:
            self._width = own

    def on_broken_pipe(self) -> None:
        """Leaves the end of the program to the program."""
        raise BrokenPipeError


def output() -> Console:
    """Where results go: standard output as it is now."""
    return ResultConsole(file=sys.stdout, highlight=False, soft_wrap=False)


@contextlib.contextmanager
def warnings_said():
    """Says what is warned of, a line each, unless it ends with an error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    for warning in said:
        if issubclass(warning.category, UserWarning):
            print(f"icpe: {warning.message}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Prints one JSON value as one line, the last of standard output."""
    print(json.dumps(value, allow_nan=False))


def printable(value: Any) -> Any:
    """JSON values whose texts are short and have nothing that moves a cursor."""
    if isinstance(value, str):
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
    if isinstance(value, Mapping):
        return {printable(name): printable(it) for name, it in value.items()}
    if isinstance(value, list | tuple):
        return [printable(it) for it in value]
    return value


def finite(value: Any) -> Any:
    """JSON values with null in the place of numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(it) for name, it in value.items()}
    return [finite(it) for it in value] if isinstance(value, list | tuple) else value


def floored(bound: float) -> str:
    """A lower bound to four digits, never rounded up."""
    return f"{int(bound * 10_000) / 10_000:.4f}"


def assurance(confidence: float | None, attempt: int | None) -> str:
    """Whether a request is certified, by a certificate of this confidence if any."""
    if confidence is None:
        return "not certified"
    again = "" if attempt == 1 else f" (attempt {attempt})"
    return f"certified with confidence {confidence:g}{again}"


def bar(fraction: float, width: int) -> str:
    """A bar of Unicode blocks, `width` characters when the fraction is 1."""
    eighths = round(min(max(fraction, 0.0), 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def skyline(belief: Any, width: int) -> str:
    """A row of Unicode blocks, at most `width`, whose heights are the probabilities.

    Neighbors share a block where there are more of them than blocks; the highest
    block is full, and a dot is exactly nothing.
    """
    import numpy as np

    parts = np.array_split(belief, min(width, len(belief)))
    heights = np.array([part.sum() for part in parts])
    levels = np.ceil(8 * heights / heights.max()).astype(int)
    return "".join(_HEIGHTS[level] for level in levels)


def progress_meter() -> AbstractProgress:
    """A moving bar if standard error is a terminal, plain lines otherwise.

    Silent in a process that helps another one.
    """
    if not leads():
        return NoProgress()
    if sys.stderr.isatty():
        return _BarProgress()
    return LineProgress(_say, _SECONDS_BETWEEN_LINES)


def _say(line: str) -> None:
    """To standard error, whose reader may have gone without ending the work."""
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


class _BarProgress(AbstractProgress):
    """A bar that disappears when the work is done."""

    def start(self, label: str, total: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._label = label
        self._task = self._progress.add_task(label, total=total)
        self._progress.start()

    def advance(self, amount: int) -> None:
        self._progress.advance(self._task, amount)

    def note(self, text: str) -> None:
        self._progress.update(self._task, description=f"{self._label}: {text}")

    def finish(self) -> None:
        self._progress.stop()
