"""Commands killed at random moments: what was announced as kept is there and whole."""

import json
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
from icpe.artifact.trees import read_stored
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
    "--train.judge-every 1000 --calibration-episodes 600 --checkpoint-seconds 0 "
    "--all-iterations --seed 5 --out {}"
)
CERTIFY = "certify {} --error-prob 0.55 --episodes 60000 --json"
CALIBRATE = "calibrate {} --episodes 4000 --json"
PROGRAM = """
import sys
from icpe.cli.main import main
from icpe.learn import survey
from support.brief_surveys import brief_settings
for name, value in brief_settings().items():
    setattr(survey, name, value)
sys.exit(main())
"""


def start(words):
    tests = str(Path(__file__).parents[1])
    program = f"import sys; sys.path.insert(0, {tests!r}){PROGRAM}"
    return subprocess.Popen(
        [sys.executable, "-c", program, *words.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    allowed = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    # Before there is anybody to see to it, the system ends the process.
    ended_by_the_system = {-number, 1} if seconds < 0.5 else set()
    assert process.returncode in {0, allowed} | ended_by_the_system, (number, err)
    return process.returncode, out, err


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
    _, seconds = complete(TRAIN.format(reference))
    expected = Artifact.load(reference)
    out = tmp_path / "killed" / "explorer.safetensors"
    out.parent.mkdir()
    checkpoint = checkpoint_path(out)
    words = TRAIN.format(out)
    trainings = 0
    for kill_number in range(KILLS):
        resume = " --resume" if checkpoint.exists() else ""
        number = SIGNALS[kill_number % len(SIGNALS)]
        status, _, err = kill(words + resume, number, draw.uniform(0.2, seconds))
        if "is kept in" in err:
            assert read_stored(checkpoint).sealed
        if status == 0:
            assert_same_bits(Artifact.load(out), expected)
            assert not checkpoint.exists()
            out.unlink()
            trainings += 1
        elif checkpoint.exists():
            assert read_stored(checkpoint).sealed
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
