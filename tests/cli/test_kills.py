"""Commands killed at random moments: what was announced as kept is there and whole."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.artifact.sealed import read_stored
from icpe.workflow import checkpoint_path
from support.toy_artifacts import guesser

pytestmark = pytest.mark.slow

KILLS = 10
"""Of each command, by the three signals in turn."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
TRAIN = (
    "train binary-search --family.size 3 --train.num-iterations 40 "
    "--train.batch-size 8 --train.minibatch-size 8 --train.replay-size 64 "
    "--train.updates-per-iteration 1 --train.warmup-iterations 1 --train.width 4 "
    "--train.num-layers 1 --train.num-heads 1 --train.log-every 2 --preset cpu "
    "--calibration-episodes 8 --checkpoint-seconds 0 "
    "--all-iterations --seed 5 --out {}"
)
CERTIFY = "certify {} --error-prob 0.55 --episodes 60000 --json"
CALIBRATE = "calibrate {} --episodes 4000 --json"


def start(words):
    """Starts a command in a process of its own, with brief surveys."""
    tests = str(Path(__file__).parents[1])
    folders = os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "icpe.cli.main", "--import", "support.briefly"]
    return subprocess.Popen(
        [*command, *words.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": folders},
    )


def complete(words):
    """Runs a command to its end; its standard output, and the seconds it took."""
    begin = time.monotonic()
    process = start(words)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out, time.monotonic() - begin


def kill(words, number, seconds):
    """Runs a command and sends it a signal; status and what it said."""
    process = start(words)
    time.sleep(seconds)
    watched = number == signal.SIGKILL or watches(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    expected = -9 if number == signal.SIGKILL else 128 + number
    # Before it watches for signals, the system ends the process.
    allowed = {0, expected} | (set() if watched else {-number})
    assert process.returncode in allowed, (number, seconds, err)
    return process.returncode, out, err


def watches(process):
    """Whether a process sees to its end by itself, or has ended."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:
        return True
    caught = next(it for it in status.splitlines() if it.startswith("SigCgt:"))
    # Not SIGINT, which Python catches from the start.
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def others(folder, *known):
    """What lies about: half-written files and locks of processes that are gone."""
    return {it.name for it in folder.iterdir()} - set(known)


def assert_same_bits(one, other):
    pairs = zip(jax.tree.leaves(one.nets), jax.tree.leaves(other.nets), strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)
    assert one.table == other.table


def test_a_training_that_is_killed_again_and_again_ends_in_the_same_bits(tmp_path):
    draw = random.Random(0)
    reference = tmp_path / "reference.safetensors"
    complete(TRAIN.format(tmp_path / "first.safetensors"))  # compiles
    _, seconds = complete(TRAIN.format(reference))
    expected = Artifact.load(reference)
    assert_same_bits(Artifact.load(tmp_path / "first.safetensors"), expected)
    out = tmp_path / "killed" / "explorer.safetensors"
    out.parent.mkdir()
    checkpoint = checkpoint_path(out)
    words = TRAIN.format(out)
    for kill_number in range(KILLS):
        resume = " --resume" if checkpoint.exists() else ""
        number = SIGNALS[kill_number % len(SIGNALS)]
        status, _, err = kill(words + resume, number, draw.uniform(0.2, seconds))
        if "is kept in" in err:
            assert read_stored(checkpoint).sealed
        if out.exists():  # written, whatever came before the very end
            assert_same_bits(Artifact.load(out), expected)
            out.unlink()
        else:
            assert status != 0
        if checkpoint.exists():
            assert status != 0 and read_stored(checkpoint).sealed
    complete(words + (" --resume" if checkpoint.exists() else ""))
    assert_same_bits(Artifact.load(out), expected)
    assert not others(out.parent, out.name, f"{out.name}.metrics.jsonl")
    lines = out.with_name(f"{out.name}.metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [*range(2, 41, 2)]


@pytest.mark.parametrize("words", [CERTIFY, CALIBRATE], ids=["certify", "calibrate"])
def test_a_file_is_as_before_or_as_it_should_be(tmp_path, words):
    draw = random.Random(1)
    reference = tmp_path / "reference.safetensors"
    artifact = guesser()
    artifact.save(reference)
    before = reference.read_bytes()
    _, seconds = complete(words.format(reference))
    after = reference.read_bytes()
    assert before != after
    path = tmp_path / "killed" / "explorer.safetensors"
    path.parent.mkdir()
    path.write_bytes(before)
    for kill_number in range(KILLS):
        number = SIGNALS[kill_number % len(SIGNALS)]
        status, out, _ = kill(words.format(path), number, draw.uniform(0.2, seconds))
        found = path.read_bytes()
        assert found in (before, after)
        if status == 0 or out:  # it was announced
            assert found == after
        path.write_bytes(before)
    complete(words.format(path))
    assert path.read_bytes() == after
    assert not others(path.parent, path.name)


def test_a_terminal_that_closes_leaves_a_checkpoint(tmp_path):
    out = tmp_path / "explorer.safetensors"
    process = start(TRAIN.format(out))
    deadline = time.monotonic() + 600
    while not checkpoint_path(out).exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 129
    assert "Stopping after the iterations in flight" in err
    assert "is kept in" in err
    assert read_stored(checkpoint_path(out)).sealed


@pytest.mark.parametrize(
    "words",
    [
        "evaluate uniform --family gaussian-bandit --error-prob 0.1 --episodes 200000",
        "calibrate {} --episodes 100000",
        "ids --episodes 1000000",
    ],
    ids=["evaluate", "calibrate", "ids"],
)
def test_ctrl_c_ends_with_its_own_status_at_any_moment(tmp_path, words):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    draw = random.Random(2)
    for _ in range(4):
        status, _, err = kill(
            words.format(path), signal.SIGINT, draw.uniform(2.0, 12.0)
        )
        assert status == 130
        assert err.splitlines()[-1] == "icpe: Interrupted."
