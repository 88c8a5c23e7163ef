"""From a table on the command line to a questionnaire with a certificate."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from icpe.artifact import Artifact
from icpe.cli.main import main
from icpe.cli.train_table import Args, _guessing, _one_question_decides, _tell
from icpe.deploy.report import session_report
from icpe.deploy.report_html import report_page
from icpe.deploy.session import Session
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
    choice = f"{chosen:g} is the smallest error probability that 30 held-out rows"
    assert choice in record["choice"]
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
    assert "mind the units" in text


def test_an_answer_far_from_all_rows_is_pointed_out_at_once(made, monkeypatch, capsys):
    lines = iter(["-5", "-5", *["yes", "2", "", ""] * 2])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(lines))
    assert main(["play", str(made[0]), "--human"]) == 0
    text = capsys.readouterr().out
    assert text.count("Mind that fever was -5, where the rows of the table have 3") == 1
    assert text.count("What is fever?") == 2
    assert "The certificate does not cover this: fever was -5" in text


def test_an_answer_that_was_mistyped_is_not_taken(made, monkeypatch, capsys):
    lines = iter(["395", "39.5", "yes", "2", "", ""])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(lines))
    assert main(["play", str(made[0]), "--human"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Mind that fever was 395" in text and "The answer: ill." in text
    assert "does not cover" not in text and "Asked for: at most" in text


def test_the_last_answer_can_be_taken_back(made, monkeypatch, capsys):
    lines = iter(["undo", "36.5", "undo", "39.5", "yes", "2", "", ""])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(lines))
    asked = ["play", str(made[0]), "--human", "--budget", "2"]
    assert main(asked) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "There is nothing to undo yet." in text
    assert text.count("The last answer is taken back.") == 1
    assert text.count("1. What is fever?") == 3
    assert "The answer: ill." in text


def test_a_certificate_does_not_cover_what_was_taken_back(made, monkeypatch, capsys):
    lines = iter(["", "", "undo", *["39.5", "yes", "2"] * 4])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(lines))
    asked = str(made[1]["certificate"]["error_prob"])
    assert main(["play", str(made[0]), "--human", "--error-prob", asked]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The last answer is taken back." in text
    assert "The certificate does not cover this: an answer or a skip was und" in text


def test_a_certificate_does_not_cover_an_answer_far_from_all_rows(made):
    path, record = made
    asked = record["certificate"]["error_prob"]
    for value, certified in ((1e9, False), (38.0, True)):
        session = Session(Artifact.load(path), error_prob=asked)
        session.ask()
        session.tell("fever", value)
        assert (session.certificate_lost is None) is certified


def test_a_person_who_knows_nothing_is_told_that_the_certificate_is_lost(
    made, monkeypatch, capsys
):
    monkeypatch.setattr("builtins.input", lambda prompt="": "")
    assert main(["play", str(made[0]), "--human"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The certificate does not cover this:" in text
    assert "was not known; every row of the table has a value for it" in text


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
        ("data.csv --target cough --ignore agee", "--ignore 'agee' is no column"),
        ("data.csv --target diagnosis --costs bad.csv", "costs names 'fevers'"),
        ("data.csv --target diagnosis --held-out 1.5", "--held-out must be a share"),
        ("data.csv --target diagnosis --error-prob 2", "--error-prob must"),
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


def test_the_file_is_played_as_it_was_certified(made, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt="": "")
    assert main(["play", str(made[0]), "--human"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "certified with confidence 0.95" in text
    assert f"at most {100 * made[1]['certificate']['error_prob']:g} %" in text
    assert "No answer was known: what follows is a guess" in text


def test_a_session_says_that_nothing_was_known(made):
    def page():
        report = session_report("it", session._rules, session.events)
        return report_page(report)

    session = Session(Artifact.load(made[0]), budget=2)
    assert not session.nothing_known and "No answer was known" not in page()
    query = session.ask()
    assert query is not None
    session.tell(query, None)
    assert session.nothing_known and "No answer was known" in page()
    query = session.ask()
    assert query is not None
    session.tell(query, "yes" if session.query_name == "cough" else 1.0)
    assert not session.nothing_known and "No answer was known" not in page()


def test_names_with_brackets_are_printed_as_they_are(made, capsys):
    args = Args(Path("d.csv"), "diagnosis", subject="patient [id]")
    _tell(args, Path("my [old] file.safetensors"), Artifact.load(made[0]), None, None)
    text = " ".join(capsys.readouterr().out.split())
    assert "my [old] file.safetensors: 4 questions" in text
    assert "It asks for fever, cough, marker, shoe size." in text
    assert "Each of the rows put aside is about a different patient [id]." in text
    assert "icpe play 'my [old] file.safetensors' --human" in text


def test_every_row_is_accounted_for_where_several_are_about_one(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    table, classes = patients(100)
    table = table.assign(patient=[f"p{i}" for i in range(100)], diagnosis=classes)
    again = table.iloc[:60].assign(marker=table["marker"][:60] + 0.3)
    pd.concat([table, again]).to_csv("data.csv", index=False)
    asked = "--target diagnosis --subject patient --max-queries 2"
    assert main(f"train-table data.csv {asked}".split()) == 0
    text = " ".join(capsys.readouterr().out.split())
    said = re.search(
        r"Of the 160 rows, cases are compared with (\d+), (\d+) were put aside, (\d+) "
        r"more, each about a different patient, tell where to stop, and (\d+) are not "
        r"used",
        text,
    )
    assert said and sum(map(int, said.groups())) == 160 and said[2] == "20"


def test_a_promise_that_guessing_keeps_is_called_weak(made):
    artifact = Artifact.load(made[0])
    rows = artifact.training["rows_by_class"]
    wrong = 1 - max(rows.values()) / sum(rows.values())
    assert _guessing(artifact, SimpleNamespace(error_prob=wrong - 0.01)) is None
    said = str(_guessing(artifact, SimpleNamespace(error_prob=wrong + 0.01)))
    assert said.startswith("That promise is weak: whoever always names")


def test_one_question_that_decides_nearly_all_cases_is_pointed_out(made):
    artifact = Artifact.load(made[0])
    first = artifact.training["first_question"]
    assert first in made[1]["queries"]
    assert artifact.table is not None
    rows = artifact.table.priced()
    hasty = next(row for row in rows if row.quantiles[1] <= 1)
    patient = next(row for row in rows if row.quantiles[1] > 1)

    def said(row, error_prob):
        served = SimpleNamespace(price=row.price, error_prob=error_prob)
        return _one_question_decides(artifact, served)

    assert f"--ignore {first!r}" in str(said(hasty, 0.05))
    assert said(hasty, 0.3) is None and said(patient, 0.05) is None


def test_the_card_has_the_rows_of_each_class(made, capsys):
    assert main(["show", str(made[0])]) == 0
    text = capsys.readouterr().out
    assert "rows of each class: ill " in text
    assert "it asks for fever, cough, marker, shoe size" in text


def test_what_is_odd_in_a_table_is_said_and_the_command_asks_what_is_certified(
    tmp_path, monkeypatch, capsys
):
    table, classes = patients(150)
    fever = [f"{it:.1f} °C".replace(".", ",") for it in table["fever"].fillna(38)]
    part = ["P1" if it == "ill" else "P2" for it in classes]
    table = table.assign(fever=fever, part=part, diagnosis=classes)
    monkeypatch.chdir(tmp_path)
    table.to_csv("data.csv", sep=";", index=False, encoding="cp1252")
    assert main(["train-table", "data.csv", "--target", "diagnosis"]) == 0
    shown = capsys.readouterr()
    assert "it is read as Windows-1252" in shown.err
    assert "Column 'part' alone tells the class of 100 %" in shown.err
    assert "--ignore 'part'" in shown.err
    record = json.loads(_shown_json("data.safetensors", capsys))
    certified = record["certificates"][0]["error_prob"]
    assert f"icpe play data.safetensors --error-prob {certified} --human" in shown.out
    assert record["family"]["parameters"]["units"][0] == "°C"


def _shown_json(path, capsys):
    assert main(["show", path, "--json"]) == 0
    return capsys.readouterr().out
