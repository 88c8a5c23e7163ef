"""Several processes that work together on this machine, and what they leave."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from icpe.artifact.sealed import read_stored
from support.ports import free_port

WAIT = 600
"""Seconds after which a test gives up."""


class Ended(NamedTuple):
    """How a process ended, and what it said."""

    status: int
    out: str
    err: str


def begin(number: int, words: Callable[[int], Sequence[str]], *, quick: bool = False):
    """So many processes of Python, each with words of its own.

    Args:
        number: of processes.
        words: of each.
        quick: compile quickly to slow programs.
    """
    cache = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1" if quick else "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return [
        subprocess.Popen(
            [sys.executable, *words(process)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in range(number)
    ]


def begin_icpe(words: str, number: int = 1) -> list[subprocess.Popen]:
    """A command as so many processes."""
    where = ""
    if number > 1:
        where = f"--coordinator 127.0.0.1:{free_port()} --num-processes {number}"

    def own(process: int) -> Sequence[str]:
        last = f"--process-id {process} --join-seconds 240" if number > 1 else ""
        return ["-m", "icpe", *f"{words} {where} {last}".split()]

    return begin(number, own, quick=True)


def begin_toy(
    out: Path, number: int = 1, configs=None, *, quick: bool = False, **more
) -> list[subprocess.Popen]:
    """A training of `support.one_of_several`; `configs` are changes for each."""
    asked = {"out": str(out), **more}
    if number > 1:
        asked |= {"coordinator": f"127.0.0.1:{free_port()}", "num_processes": number}

    def own(process: int) -> Sequence[str]:
        word = {**asked, "process_id": process} if number > 1 else dict(asked)
        if configs is not None:
            word["config"] = configs[process]
        return ["-m", "support.one_of_several", json.dumps(word)]

    return begin(number, own, quick=quick)


def ended(processes: list[subprocess.Popen]) -> list[Ended]:
    """What became of them, when all have ended."""
    try:
        said = [process.communicate(timeout=WAIT) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [
        Ended(process.returncode, *both)
        for process, both in zip(processes, said, strict=True)
    ]


def succeeded(processes: list[subprocess.Popen]) -> list[Ended]:
    """The same, where all must have succeeded."""
    found = ended(processes)
    assert [each.status for each in found] == len(found) * [0], found
    return found


def metrics(file: Path) -> list[dict]:
    """Of every iteration."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def assert_same_losses(ours: list[dict], theirs: list[dict]) -> None:
    """To 1e-5 at every iteration, and the same episodes."""
    assert len(ours) == len(theirs) > 0
    for name in ("inference_loss", "query_loss", "grad_norm"):
        np.testing.assert_allclose(
            [row[name] for row in ours], [row[name] for row in theirs], atol=1e-5
        )
    for name in ("accuracy", "mean_queries"):
        np.testing.assert_allclose(
            [row[name] for row in ours], [row[name] for row in theirs], rtol=1e-6
        )


def assert_follows(out: Path, alone: Path, iterations: int) -> None:
    """The same losses to 1e-5 at every iteration, the same episodes to the bit."""
    ours, theirs = (metrics(stem.with_suffix(".jsonl")) for stem in (out, alone))
    assert len(ours) == iterations
    assert_same_losses(ours, theirs)
    kept, wanted = (
        read_stored(stem.with_suffix(".checkpoint")).arrays for stem in (out, alone)
    )
    assert kept.keys() == wanted.keys()
    episodes = [name for name in kept if name.startswith("replay.")]
    assert len(episodes) > 5
    for name in episodes:
        np.testing.assert_array_equal(kept[name], wanted[name], err_msg=name)
    for name in kept.keys() - set(episodes):
        one, other = np.asarray(kept[name]), np.asarray(wanted[name])
        if one.dtype.kind in "iub":
            np.testing.assert_array_equal(one, other, err_msg=name)
        else:
            close = {"atol": 1e-4, "equal_nan": True}
            one, other = one.astype(np.float32), other.astype(np.float32)
            np.testing.assert_allclose(one, other, **close, err_msg=name)
