"""Commands that run as several processes do what one process does."""

import shutil
import signal
import time

import pytest

from support.processes import (
    WAIT,
    assert_same_losses,
    begin_icpe,
    ended,
    metrics,
    succeeded,
)

TRAIN = (
    "--import support.briefly train binary-search --family.size 4 --preset cpu "
    "--train.num-iterations 20 --train.warmup-iterations 20 --train.batch-size 8 "
    "--train.minibatch-size 8 --train.updates-per-iteration 2 --train.replay-size 64 "
    "--train.width 4 --train.num-layers 1 --train.num-heads 1 --train.log-every 1 "
    "--calibration-episodes 64 --checkpoint-seconds 0 --all-iterations --out {}"
)
CALIBRATE = "calibrate {} --episodes 600 --json"
CERTIFY = "certify {} --error-prob 0.1 --json"
EVALUATE = "evaluate uniform {} --error-prob 0.1 --episodes 40000 --json"


def test_two_processes_print_what_one_prints(icpe):
    words = (
        "evaluate uniform --family binary-search --family.size 4 --error-prob 0.1 "
        "--episodes 40000 --json"
    )
    first, second = succeeded(begin_icpe(words, 2))
    assert first.out == icpe(words).out
    assert second.out == second.err == ""


@pytest.mark.slow
def test_an_explorer_of_several_processes_is_that_of_one(tmp_path):
    alone, out = tmp_path / "alone.safetensors", tmp_path / "out.safetensors"
    succeeded(begin_icpe(TRAIN.format(alone)))
    _interrupt_one_of_four(out)
    succeeded(begin_icpe(TRAIN.format(out) + " --resume", 2))
    ours, theirs = (
        metrics(path.with_name(f"{path.name}.metrics.jsonl")) for path in (out, alone)
    )
    assert len(ours) == 20
    assert_same_losses(ours, theirs)
    assert not out.with_name(f"{out.name}.checkpoint").exists()
    for words in (CALIBRATE, CERTIFY, CERTIFY + " --verify", EVALUATE):
        one = tmp_path / "one" / out.name
        one.parent.mkdir(exist_ok=True)
        shutil.copy(out, one)
        expected = succeeded(begin_icpe(words.format(one)))[0]
        found = succeeded(begin_icpe(words.format(out), 4))
        said = expected.out.replace(str(one), str(out))
        assert found[0].out == said, words
        assert all(each.out == "" for each in found[1:])
        assert out.read_bytes() == one.read_bytes(), words


def _interrupt_one_of_four(out):
    """Ctrl-C in one process ends all, with a checkpoint."""
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    processes = begin_icpe(TRAIN.format(out), 4)
    try:
        until = time.monotonic() + WAIT
        while not checkpoint.exists():
            assert time.monotonic() < until
            assert all(process.poll() is None for process in processes)
            time.sleep(0.02)
        processes[2].send_signal(signal.SIGINT)
    finally:
        found = ended(processes)
    assert [each.status for each in found] == 4 * [130], found
    assert "Interrupted after" in found[0].err
    assert "--resume" in found[0].err
    assert checkpoint.exists()
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "number"), [(0, signal.SIGTERM), (1, signal.SIGINT)]
)
def test_a_signal_to_one_of_two_that_evaluate_ends_both(victim, number):
    words = "evaluate uniform --family binary-search --budget 2 --episodes 900000000"
    processes = begin_icpe(words, 2)
    try:
        assert processes[0].stderr is not None
        assert processes[0].stderr.readline().startswith("uniform: ")
        processes[victim].send_signal(number)
    finally:
        found = ended(processes)
    assert found[victim].status == 128 + number
    assert found[victim].err.endswith("icpe: Interrupted.\n")
    other = found[1 - victim]
    assert other.status == 2
    assert "Another process of this work has ended" in other.err
    assert found[0].out == ""
