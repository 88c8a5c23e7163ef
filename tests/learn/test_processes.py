"""Trainings of several processes on this machine, against one process alone."""

import signal
import time
from pathlib import Path

import pytest

from icpe.artifact.sealed import read_stored
from support.one_of_several import CONFIG
from support.processes import WAIT, assert_follows, begin_toy, ended, succeeded

pytestmark = pytest.mark.slow

ITERATIONS = CONFIG["num_iterations"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """A training of one process, to its end."""
    out = tmp_path_factory.mktemp("alone") / "one"
    succeeded(begin_toy(out))
    return out


@pytest.mark.parametrize("number", [2, 4])
def test_several_processes_follow_one(number, alone, tmp_path):
    succeeded(begin_toy(tmp_path / "several", number))
    assert_follows(tmp_path / "several", alone, ITERATIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "several.checkpoint",
        "several.jsonl",
    ]


@pytest.mark.parametrize(
    ("number", "victim", "later"), [(2, 1, 1), (2, 0, 2), (4, 2, 2)]
)
def test_a_killed_process_ends_the_others_and_training_goes_on(
    number, victim, later, alone, tmp_path
):
    out = tmp_path / "killed"
    processes = begin_toy(out, number, pause=0.5)
    try:
        until = time.monotonic() + WAIT
        while not out.with_suffix(".checkpoint").exists():
            assert time.monotonic() < until
            assert all(process.poll() is None for process in processes)
            time.sleep(0.05)
        time.sleep(1.0)
        processes[victim].send_signal(signal.SIGKILL)
    finally:
        found = ended(processes)
    for each in found[:victim] + found[victim + 1 :]:
        assert each.status == 2
        sentence = each.err.splitlines()[-1]
        assert "Another process of this work has ended" in sentence
        assert str(out.with_suffix(".checkpoint")) in sentence
        assert "with resume" in sentence
    done = read_stored(out.with_suffix(".checkpoint")).document["iteration"]
    assert 1 <= done < ITERATIONS
    succeeded(begin_toy(out, later, resume=True))
    assert_follows(out, alone, ITERATIONS)


def test_processes_that_disagree_are_refused(tmp_path):
    other = {**CONFIG, "learning_rate": 0.25}
    found = ended(begin_toy(tmp_path / "apart", 2, configs=[CONFIG, other]))
    for each in found:
        assert each.status == 2
        said = "Process 1 is not to train what process 0 trains: learning_rate"
        assert said in each.err
        assert "0.25 in process 1" in each.err
    assert not (tmp_path / "apart.checkpoint").exists()
