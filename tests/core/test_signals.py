"""Signals end a process soon, with its own status, whatever it is doing."""

import signal
import subprocess
import sys
import time

import pytest

from icpe.core import signals
from icpe.core.signals import Interrupted, PendingStops

START = """
import signal, sys, time
from pathlib import Path
from icpe.core import signals
from icpe.core.files import replacing
from icpe.core.locks import locked
with signals.watching():
    print("ready", flush=True)
"""
SWALLOWS = """
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""
IN_C = """
    import hashlib
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
"""
WRITES = """
    path = Path(sys.argv[1])
    with locked(path, "x"), replacing(path) as temporary:
        temporary.write_text("half")
        print("writing", flush=True)
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
"""
RAISES = """
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(signals.exit_status())
"""
TRAINS = """
    with signals.PendingStops() as requests:
        requests.ready = True
        print("training", flush=True)
        while requests.reason is None:
            time.sleep(0.01)
    print("kept", flush=True)
    sys.exit(signals.exit_status())
"""


def end(work, number, *words, ready="ready", before=""):
    """Starts work in a process, sends a signal, and returns what came of it."""
    script = before + START + work
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while process.stdout.readline().strip() != ready:
        assert process.poll() is None
    time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


@pytest.mark.parametrize(
    "work", [SWALLOWS, IN_C, RAISES], ids=["swallows", "in C", "raises"]
)
def test_a_signal_ends_whatever_is_being_done(work):
    status, _, err = end(work, signal.SIGINT)
    assert status == 130
    assert err == ("" if work == RAISES else "icpe: Interrupted.\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_work_that_can_stop_is_told_and_the_status_names_the_signal(number):
    status, out, err = end(TRAINS, number, ready="training")
    assert status == 128 + number
    assert out == "kept\n"
    assert err.startswith("icpe: Stopping after the iterations in flight")


def test_what_was_being_written_is_cleared_away(tmp_path):
    path = tmp_path / "file"
    status, _, _ = end(WRITES, signal.SIGTERM, path, ready="writing")
    assert status == 143
    assert not list(tmp_path.iterdir())


def test_a_signal_that_is_ignored_stays_ignored():
    work = "    signal.raise_signal(signal.SIGHUP)" + RAISES
    before = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    status, _, _ = end(work, signal.SIGTERM, before=before)
    assert status == 143


def test_before_there_is_anything_to_keep_the_first_signal_interrupts():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted), PendingStops():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_first_signal_is_a_request_and_the_second_interrupts():
    with PendingStops() as requests:
        requests.ready = True
        assert requests.reason is None
        signal.raise_signal(signal.SIGINT)
        assert requests.reason == "interrupted"
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGINT)
    assert signals.exit_status() == 130
