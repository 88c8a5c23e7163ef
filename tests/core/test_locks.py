"""One writer per output, and who it is."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from icpe.core.errors import InUseError
from icpe.core.locks import lock_path, locked

HOLDER = """
import sys, time
from pathlib import Path
from icpe.core.locks import locked
with locked(Path(sys.argv[1]), "a test"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.safetensors"


def test_a_second_holder_is_refused_and_told_who_is_first(path):
    with locked(path, "icpe train"):
        with pytest.raises(InUseError) as caught, locked(path, "icpe certify"):
            pass
        sentence = str(caught.value)
        assert f"{path} is in use by process {os.getpid()} on " in sentence
        assert " since 20" in sentence and "(icpe train)" in sentence
        assert f"if there is no such process, remove {lock_path(path)}" in sentence
    with locked(path, "icpe certify"):
        pass
    assert not list(path.parent.iterdir())


def test_a_lock_that_cannot_be_made_names_the_output():
    out = Path("/proc/a.safetensors")
    with pytest.raises(OSError) as caught, locked(out, "a test"):
        pass
    assert caught.value.filename == str(out)
    assert ".lock" not in str(caught.value)


def test_threads_do_not_share_a_lock(path):
    refused = []

    def other():
        try:
            with locked(path, "other"):
                pass
        except InUseError as error:
            refused.append(error)

    with locked(path, "one"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_outputs_have_locks_of_their_own_and_links_share_them(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    with locked(path, "one"):
        with locked(tmp_path / "another", "two"):
            pass
        with pytest.raises(InUseError), locked(link, "three"):
            pass


def test_the_lock_of_a_killed_process_is_free(path):
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(InUseError, match=f"process {process.pid} on"):  # noqa: SIM117
            with locked(path, "too early"):
                pass
        process.send_signal(signal.SIGKILL)
    assert lock_path(path).exists()
    with locked(path, "now"):
        pass
    assert not list(path.parent.iterdir())


def test_a_lock_is_broken_by_removing_it(path):
    with locked(path, "gone astray"):
        lock_path(path).unlink()
        with locked(path, "next"):
            pass
