"""`icpe rule`: from words to a file that was never trained."""

import json

import pytest

from icpe.cli.main import main

RULE = "rule noisy-binary-search --family.size 4 --family.horizon 8"
QUICK = "--score top-two --calibration-episodes 128"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rule") / "rule.safetensors"
    words = f"{RULE} --score information-gain --calibration-episodes 512 --out {path}"
    assert main(words.split()) == 0
    return path


def test_a_rule_is_shown_certified_and_evaluated_like_an_explorer(path, capsys):
    assert main(f"show {path}".split()) == 0
    shown = capsys.readouterr().out
    assert "a rule, which was not trained" in shown
    assert "queries by information-gain" in shown
    assert main(f"certify {path} --error-prob 0.2 --episodes 2048 --json".split()) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["certified"] is True
    asked = f"evaluate {path} --error-prob 0.2 --episodes 256 --json"
    assert main(asked.split()) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["certified"] is True
    assert report["accuracy"] >= 0.7


def test_bad_words_are_answered_in_one_sentence(path, capsys):
    assert main(f"{RULE} {QUICK} --out {path}".split()) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(f"rule magic-room --out {path.with_name('new')}".split()) == 2
    error = capsys.readouterr().err
    assert "exact belief" in error
    assert error.count("\n") == 1
