"""Two processes train together: they follow one alone, and outlive one that dies."""

import signal
import time

import pytest

from support.processes import WAIT, assert_follows, begin_toy, ended, metrics, succeeded

pytestmark = pytest.mark.services

WARM_UP, ITERATIONS = 20, 24
CHANGES = {
    "num_iterations": ITERATIONS,
    "warmup_iterations": ITERATIONS,
    "predictions": "none",
}


def test_two_processes_follow_one_and_training_goes_on_when_one_is_killed(tmp_path):
    alone, out = tmp_path / "alone", tmp_path / "killed"
    succeeded(begin_toy(alone, quick=True, config=CHANGES))
    processes = begin_toy(out, 2, quick=True, config=CHANGES, pause=0.3)
    try:
        until = time.monotonic() + WAIT
        file = out.with_suffix(".jsonl")
        while not file.exists() or len(metrics(file)) <= WARM_UP:
            assert time.monotonic() < until
            assert all(process.poll() is None for process in processes)
            time.sleep(0.05)
        processes[1].send_signal(signal.SIGKILL)
    finally:
        first, _ = ended(processes)
    assert first.status == 2
    sentence = first.err.splitlines()[-1]
    assert "Another process of this work has ended" in sentence
    assert f"the last checkpoint is {out.with_suffix('.checkpoint')}" in sentence
    assert len(metrics(file)) < ITERATIONS
    succeeded(begin_toy(out, quick=True, resume=True, config=CHANGES))
    assert_follows(out, alone, ITERATIONS)
