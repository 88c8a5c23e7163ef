"""A family of one's own: written by `icpe new`, named by its file and class."""

import subprocess
import sys

import pytest

from icpe.families import registry
from icpe.studies import tiny


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    yield tmp_path
    for name in ("mine", "test_mine"):
        sys.modules.pop(name, None)


def test_what_is_written_passes_its_own_tests(icpe, folder):
    called = icpe("new mine.py")
    assert called.status == 0 and "icpe train mine.py:MyFamily" in called.out
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_family_in_a_file_is_listed_and_has_bounds(icpe, folder):
    icpe("new mine.py")
    listed = icpe("tasks mine.py:MyFamily")
    assert listed.status == 0 and "--family.num-machines" in listed.out
    assert "information-gain" in listed.out
    bounds = "bounds mine.py:MyFamily --error-prob 0.1"
    known = icpe(f"{bounds} --json").json
    assert known["fano_mean_queries"] > 1.0 and "bayes_mean_queries" not in known
    said = " ".join(icpe(bounds).out.split())
    assert "The optimum over the prior is not known: with 4 tasks, 4 queries" in said
    assert "lower bound, Fano's inequality" in said


@pytest.mark.slow
def test_it_is_trained_and_used_without_registration(icpe, folder, hardly_trained):
    assert tiny.TINY.num_iterations < 10
    icpe("new mine.py")
    called = icpe(
        "train mine.py:MyFamily --family.num-machines 3 --out mine.safetensors "
        "--calibration-episodes 8 --preset cpu"
    )
    assert called.status == 0, called.err
    registry._FACTORIES.pop("MyFamily")
    sys.modules.pop("mine")
    asked = "play mine.safetensors --budget 2 --json"
    refused = icpe(asked)
    assert refused.status == 2 and "add --import mine.py:MyFamily (" in refused.err
    assert icpe(f"{asked} --import mine.py:MyFamily").status == 0
    found = icpe(
        "evaluate information-gain --family mine.py:MyFamily --budget 2 --episodes 32 "
        "--json"
    )
    assert found.json["family"]["name"] == "MyFamily"


@pytest.mark.parametrize(
    "words, complaint",
    [
        ("new mine", "FILE.py must be a Python name that ends in .py"),
        ("new my-problem.py", "FILE.py must be a Python name that ends in .py"),
        ("new nowhere/mine.py", "FILE.py nowhere/mine.py cannot be written"),
        ("train yours.py:MyFamily --out x", "no file yours.py; `icpe new yours.py`"),
        ("train --out x", "FAMILY is missing"),
        ("train --costs c.csv --out x", "--costs goes with --likelihoods FILE"),
        ("train --likelihoods t.csv --out x", "t.csv cannot be read"),
        ("train likelihoods --likelihoods t.csv --out x", "are two families"),
        ("bounds --likelihoods some.csv --family.size 3", "no parameter 'size' here"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(icpe, folder, words, complaint):
    (folder / "some.csv").write_text("hypothesis,query,outcome,probability\n")
    called = icpe(words)
    assert called.status == 2 and called.err.count("\n") == 1
    assert complaint in called.err


def test_nothing_is_overwritten_unasked(icpe, folder):
    (folder / "test_mine.py").write_text("precious")
    refused = icpe("new mine.py")
    assert refused.status == 2 and "FILE.py test_mine.py exists" in refused.err
    assert not (folder / "mine.py").exists()
    assert icpe("new mine.py --overwrite").status == 0
