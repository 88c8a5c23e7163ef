"""Trainings of several processes on this machine, against one process alone."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from icpe.artifact.sealed import read_stored
from support.one_of_several import CONFIG
from support.ports import free_port

pytestmark = pytest.mark.slow

WAIT = 600
"""Seconds after which a test gives up."""


def start(out: Path, number: int = 1, configs=None, **more) -> list[subprocess.Popen]:
    """So many processes that train together; `configs` are changes for each."""
    cache = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    asked = {"out": str(out), **more}
    if number > 1:
        asked |= {"coordinator": f"127.0.0.1:{free_port()}", "num_processes": number}
    begun = []
    for process in range(number):
        own = {**asked, "process_id": process} if number > 1 else dict(asked)
        if configs is not None:
            own["config"] = configs[process]
        begun.append(
            subprocess.Popen(
                [sys.executable, "-m", "support.one_of_several", json.dumps(own)],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return begun


def ended(processes: list[subprocess.Popen]) -> list[str]:
    """What they said on standard error, when all have ended."""
    try:
        return [process.communicate(timeout=WAIT)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()


def trained(out: Path, number: int = 1, **more) -> None:
    """Trains to the end."""
    processes = start(out, number, **more)
    said = ended(processes)
    assert [process.returncode for process in processes] == number * [0], said


def metrics(out: Path) -> list[dict]:
    """Of every iteration."""
    lines = out.with_suffix(".jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def assert_follows(out: Path, alone: Path) -> None:
    """The same losses to 1e-5 at every iteration, the same episodes to the bit."""
    ours, theirs = metrics(out), metrics(alone)
    assert len(ours) == len(theirs) == CONFIG["num_iterations"]
    for name in ("inference_loss", "query_loss", "grad_norm"):
        np.testing.assert_allclose(
            [row[name] for row in ours], [row[name] for row in theirs], atol=1e-5
        )
    for name in ("accuracy", "mean_queries"):
        np.testing.assert_allclose(
            [row[name] for row in ours], [row[name] for row in theirs], rtol=1e-6
        )
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


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """A training of one process, to its end."""
    out = tmp_path_factory.mktemp("alone") / "one"
    trained(out)
    return out


@pytest.mark.parametrize("number", [2, 4])
def test_several_processes_follow_one(number, alone, tmp_path):
    trained(tmp_path / "several", number)
    assert_follows(tmp_path / "several", alone)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "several.checkpoint",
        "several.jsonl",
    ]


@pytest.mark.parametrize("victim", [1, 0])
def test_a_killed_process_ends_the_others_and_training_goes_on(victim, alone, tmp_path):
    out = tmp_path / "killed"
    processes = start(out, 2, pause=0.5)
    try:
        until = time.monotonic() + WAIT
        while not out.with_suffix(".checkpoint").exists():
            assert time.monotonic() < until
            assert all(process.poll() is None for process in processes)
            time.sleep(0.05)
        time.sleep(1.0)
        processes[victim].send_signal(signal.SIGKILL)
        other = processes[1 - victim]
        _, said = other.communicate(timeout=WAIT)
    finally:
        ended(processes)
    assert other.returncode == 2
    sentence = said.splitlines()[-1]
    assert "Another process of this work has ended" in sentence
    assert str(out.with_suffix(".checkpoint")) in sentence
    assert "with resume" in sentence
    done = read_stored(out.with_suffix(".checkpoint")).document["iteration"]
    assert 1 <= done < CONFIG["num_iterations"]
    trained(out, 1 if victim else 2, resume=True)
    assert_follows(out, alone)


def test_processes_that_disagree_are_refused(tmp_path):
    other = {**CONFIG, "learning_rate": 0.25}
    processes = start(tmp_path / "apart", 2, configs=[CONFIG, other])
    said = ended(processes)
    assert [process.returncode for process in processes] == [2, 2]
    for text in said:
        assert "Process 1 is not to train what process 0 trains: learning_rate" in text
        assert "0.25 in process 1" in text
    assert not (tmp_path / "apart.checkpoint").exists()
