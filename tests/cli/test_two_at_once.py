"""Two commands on one file: the second is refused, and nothing is lost."""

import os
import subprocess
import sys

import pytest

from icpe.artifact import Artifact
from icpe.cli.train import Args
from icpe.core.locks import locked
from icpe.workflow import checkpoint_path
from support.toy_artifacts import guesser


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    return path


@pytest.mark.parametrize(
    "words",
    [
        "certify {} --error-prob 0.6 --episodes 512",
        "calibrate {} --episodes 8",
        "train binary-search --out {} --overwrite",
        "zoo binary-search-8 --out {} --overwrite",
    ],
)
def test_a_file_in_use_is_left_alone(icpe, file, words):
    before = file.read_bytes()
    with locked(file, "icpe certify"):
        called = icpe(words.format(file))
    assert called.status == 2
    assert f"{file} is in use by process {os.getpid()}" in called.err
    assert called.err.count("\n") == 1
    assert file.read_bytes() == before
    assert list(file.parent.glob("*")) == [file] or "train" in words


def test_a_checkpoint_in_use_is_left_alone(icpe, file):
    """A training by another name for the same file, such as one in Python."""
    out = file.with_name("new.safetensors")
    with locked(checkpoint_path(out), "a training"):
        called = icpe(f"train binary-search --out {out} --family.size 3 --preset cpu")
    assert called.status == 2 and "is in use by process" in called.err


def test_reading_needs_no_lock(icpe, file):
    with locked(file, "icpe calibrate"):
        assert icpe(f"show {file}").status == 0


def test_checkpoints_may_be_asked_for_more_often(icpe, tmp_path):
    assert Args.__dataclass_fields__["checkpoint_seconds"].default == 60.0
    out = tmp_path / "new.safetensors"
    words = f"train binary-search --out {out} --checkpoint-seconds"
    called = icpe(f"{words} -1")
    assert called.status == 2
    assert "checkpoint_seconds must be at least 0.0; got -1.0" in called.err
    assert icpe(f"{words} soon").status == 2


@pytest.mark.slow
def test_two_certificates_at_once_are_both_there_or_one_is_refused(file):
    command = [sys.executable, "-m", "icpe.cli.main", "certify", str(file)]
    processes = [
        subprocess.Popen(
            [*command, "--error-prob", str(error_prob), "--episodes", "20000"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for error_prob in (0.6, 0.8)
    ]
    ends = [(p.communicate(timeout=300)[1], p.returncode) for p in processes]
    kept = Artifact.load(file).certificates
    assert sum(status == 0 for _, status in ends) == len(kept) >= 1
    assert all(status == 0 or "is in use by" in err for err, status in ends)
