"""Metrics of training: JSON lines, and TensorBoard where it is installed."""

import json
from pathlib import Path
from typing import Any

from icpe.core.files import replacing, writing


class MetricsLog:
    """Appends one JSON object per chunk of training to a file.

    When training resumes at an iteration, lines after it are dropped first, so that
    the file reads as one uninterrupted run. If `tensorboardX` is installed, events
    are written to a folder beside the file as well.
    """

    def __init__(self, path: Path, *, resume_at: int = 0):
        self.path = path
        kept = _lines_until(path, resume_at) if resume_at else []
        with replacing(path) as temporary:
            temporary.write_text("".join(kept))
        self._board = _tensorboard(path)

    def write(self, iteration: int, metrics: dict[str, Any]) -> None:
        """Appends one line."""
        with writing(self.path), self.path.open("a") as file:
            file.write(json.dumps({"iteration": iteration, **metrics}) + "\n")
        if self._board is not None:
            for name, value in metrics.items():
                self._board.add_scalar(name, value, iteration)


def _lines_until(path: Path, iteration: int) -> list[str]:
    """The whole lines up to an iteration; a half-written last line is dropped."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    return [line for line in whole if json.loads(line)["iteration"] <= iteration]


def _tensorboard(path: Path):
    try:
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return SummaryWriter(str(path.with_suffix(".tensorboard")))
