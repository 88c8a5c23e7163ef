"""Commands that run as several processes at once: who speaks, who only helps."""

import contextlib
import dataclasses
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from icpe.cli.options import Together
from icpe.core.distributed import Processes, check_same, joined, leads
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
def together(args: Any, engine: str = "local") -> Iterator[None]:
    """Meets the other processes; results are printed by the first one alone.

    Args:
        args: of the command, with its `Together`.
        engine: that is to do the work.

    Raises:
        InvalidParameterError: they cannot meet, were given different commands or
            versions, or an engine is to do their work.
    """
    asked: Together = args.together
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
        if processes is not None:
            from icpe.artifact import provenance

            check_same(**provenance(), **given(args))
        yield


def check_same_content(files: Iterable[Path], family: Any = None) -> None:
    """Raises one sentence unless all processes have read the same.

    Raises:
        InvalidParameterError: a file or the family differs between them.
    """
    from icpe.core.distributed import count
    from icpe.core.fingerprint import fingerprint

    if count() == 1:
        return
    found = {f"The content of {path.name}": _digest(path) for path in files}
    if family is not None:
        found["The law of the family"] = fingerprint(family)
    check_same(**found)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def given(args: Any, prefix: str = "") -> dict[str, Any]:
    """What all processes must be given alike; files may lie in different folders."""
    found: dict[str, Any] = {}
    values = args
    if not isinstance(args, Mapping):
        values = {it.name: getattr(args, it.name) for it in dataclasses.fields(args)}
    for name, value in values.items():
        if isinstance(value, Together):
            continue
        if isinstance(value, Mapping):
            found |= given(value, "train." if name.startswith("train") else "family.")
        elif dataclasses.is_dataclass(value):
            found |= given(value)
        else:
            name = prefix + name.replace("_", "-")
            found[name] = "a file" if isinstance(value, Path) else value
    return found


@contextlib.contextmanager
def written_by_the_first(path: Path, purpose: str) -> Iterator[None]:
    """Holds the lock of an output, which the first of several processes writes."""
    with locked(path, purpose) if leads() else contextlib.nullcontext():
        yield
