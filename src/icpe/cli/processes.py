"""Commands that run as several processes at once: who speaks, who only helps."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from icpe.cli.options import Together
from icpe.core.distributed import Processes, joined, leads
from icpe.core.errors import InvalidParameterError
from icpe.core.locks import locked


def processes_of(asked: Together) -> Processes | None:
    """Which of how many processes this is to be; None if it works alone.

    Raises:
        InvalidParameterError: a part is missing or out of range.
    """
    given = {
        "--coordinator": asked.coordinator,
        "--num-processes": asked.num_processes,
        "--process-id": asked.process_id,
    }
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        return None
    if missing:
        has = [f"{name} {given[name]}" for name in given if name not in missing]
        raise InvalidParameterError(
            f"{' and '.join(has)} also needs {' and '.join(missing)}: several "
            "processes meet at --coordinator HOST:PORT, and each has its own "
            "--process-id below --num-processes."
        )
    assert asked.coordinator is not None
    assert asked.num_processes is not None
    assert asked.process_id is not None
    return Processes(
        asked.coordinator, asked.num_processes, asked.process_id, asked.join_seconds
    )


@contextlib.contextmanager
def together(asked: Together, engine: str = "local") -> Iterator[None]:
    """Meets the other processes; results are printed by the first one alone.

    Raises:
        InvalidParameterError: they cannot meet, or an engine is to do their work.
    """
    processes = processes_of(asked)
    if processes is not None and engine != "local":
        raise InvalidParameterError(
            f"--engine {engine} cannot be combined with --coordinator "
            f"{asked.coordinator}, which spreads the work already; leave one out."
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(joined(processes))
        if not leads():
            silence = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(contextlib.redirect_stdout(silence))
            sys.stdout.flush()
        yield


@contextlib.contextmanager
def written_by_the_first(path: Path, purpose: str) -> Iterator[None]:
    """Holds the lock of an output, which the first of several processes writes."""
    with locked(path, purpose) if leads() else contextlib.nullcontext():
        yield
