"""From a table on the command line to a questionnaire with a certificate."""

import json

import pytest

from icpe.cli.main import main
from support.small_tables import patients


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("table")
    table, classes = patients(150)
    table.assign(diagnosis=classes).to_csv(where / "data.csv", index=False)
    (where / "costs.csv").write_text("feature,cost\nmarker,3\n", encoding="utf-8")
    return where


@pytest.fixture(scope="module")
def made(folder):
    """The file, and what the command printed about it."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
        words = "train-table data.csv --target diagnosis --costs costs.csv --json"
        status = main(words.split())
    assert status == 0
    return folder / "data.safetensors", json.loads(printed.getvalue())


def test_a_table_becomes_a_certified_file(made):
    path, record = made
    assert path.exists() and record["file"] == "data.safetensors"
    assert record["rows"] == 120 and record["held_out_rows"] == 30
    assert record["queries"] == ["fever", "cough", "marker", "shoe size"]
    assert record["certified"] is True
    assert record["certificate"]["test"] == "held-out"
    assert record["certificate"]["episodes"] == 30
    chosen = record["certificate"]["error_prob"]
    assert f"{chosen:g} is the smallest that 30 held-out rows" in record["choice"]
    assert "--error-prob P" in record["choice"]


def test_a_person_is_asked_for_features_by_name(made, monkeypatch, capsys):
    lines = iter(["warm", "39.5", "yes", "2", "", ""])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(lines))
    assert main(["play", str(made[0]), "--human"]) == 0
    text = capsys.readouterr().out
    assert "What is fever? (a number" in text
    assert "fever must be a number" in text
    assert "certified with confidence 0.95" in " ".join(text.split())
    assert "The answer: ill." in text


def test_certify_and_evaluate_are_about_the_rows_that_were_put_aside(made, capsys):
    assert main(["evaluate", str(made[0]), "--budget", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 30
    assert main(["certify", str(made[0]), "--verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]
    assert main(["certify", str(made[0]), "--error-prob", "0.01"]) == 2
    assert "30 held-out rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("data.csv --target diagnose", "did you mean 'diagnosis'?"),
        ("none.csv --target diagnosis", "none.csv cannot be read"),
        ("data.csv --target cough --ignore agee", "--ignore names 'agee'"),
        ("data.csv --target diagnosis --costs bad.csv", "costs names 'fevers'"),
        ("data.csv --target diagnosis --held-out 1.5", "held_out must be a share"),
        ("data.csv --target diagnosis --error-prob 2", "error_prob"),
        ("lonely.csv --target who", "The target has 1 row of class 'b'"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    folder, words, sentence, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    (folder / "bad.csv").write_text("feature,cost\nfevers,3\n", encoding="utf-8")
    lonely = "x,who\n1,a\n2,a\n3,b\n"
    (folder / "lonely.csv").write_text(lonely, encoding="utf-8")
    assert main(["train-table", *words.split(), "--out", "new.safetensors"]) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.strip().splitlines()) == 1
    assert not (folder / "new.safetensors").exists()
