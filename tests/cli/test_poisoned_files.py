"""Files that parse but cannot be: one sentence, soon, and in little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from icpe import zoo
from icpe.artifact import Artifact
from icpe.core.errors import IcpeError
from support.certificates import unearned_certificate
from support.rewriting import rewrite
from support.toy_artifacts import guesser

MOST_SECONDS = 5.0
MOST_KILOBYTES = 2**20


def test_poisoned_leaves_are_answered_in_one_sentence(tmp_path):
    """By show, by loading, and by evaluating what loads."""
    path = tmp_path / "explorer.safetensors"
    named = unearned_certificate(weights=guesser().weights_hash)
    guesser().with_certificate(named).save(path)
    tests = str(Path(__file__).parents[1])
    folders = os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "support.poisoned_leaves", str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": folders},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["problems"]
    assert len(found["evaluated"]) >= 3
    assert found["slowest"] < MOST_SECONDS
    assert found["kilobytes"] < MOST_KILOBYTES


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda d: d["networks"]["transformer"].update(num_layers=20_000),
            "num_layers is 20000",
        ),
        (
            lambda d: d["family"]["parameters"].update(size=5_000_000),
            "size is 5000000, more than its networks have of anything",
        ),
        (lambda d: d.update(price_range=[float("nan"), 0.1]), "price_range"),
        (lambda d: d.update(price_range=[0.1, 0.1]), "price_range must rise"),
        (lambda d: d.update(price_range=[0, 0.1]), "price_range must rise"),
        (lambda d: d.update(price_range=["0.1", 0.2]), "price_range"),
        (lambda d: d["operating_table"]["rows"][0].update(accuracy=1.5), "accuracy"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, change, words):
    path = tmp_path / "explorer.safetensors"
    path.write_bytes(zoo.path("binary-search-8").read_bytes())
    rewrite(path, change)
    with pytest.raises(IcpeError, match=words):
        Artifact.load(path)
