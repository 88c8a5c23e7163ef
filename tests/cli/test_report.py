"""Sessions of a storage, listed and reported without a server."""

import csv
import json

import pytest

from icpe.cli.main import main
from icpe.deploy import open_session
from support.service_models import small_bandit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("reports")
    small_bandit().save(where / "mine.safetensors")
    for id, file in (("by-file", where / "mine.safetensors"), ("other", None)):
        session = open_session(
            file or small_bandit(),
            storage=f"sqlite:///{where}/trial.db",
            id=id,
            budget=3,
        )
        while (query := session.ask()) is not None and id == "by-file":
            session.tell(query, 0.25)
    return where


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_sessions_are_listed_with_their_models(here, capsys):
    assert main(["sessions", "sqlite:///trial.db", "--json"]) == 0
    found = {it["id"]: it for it in json.loads(capsys.readouterr().out)}
    assert found["by-file"]["model"] == "mine.safetensors"
    assert found["other"]["model"] is None
    assert main(["sessions", "sqlite:///trial.db", "--status", "stopped"]) == 0
    text = capsys.readouterr().out
    assert "by-file" in text and "mine.safetensors" in text and "other" not in text


def test_a_report_is_written_in_each_form(here, capsys):
    words = ["report", "sqlite:///trial.db", "by-file"]
    for name in ("r.html", "r.json", "r.csv"):
        assert main([*words, "--out", name]) == 0
    page = (here / "r.html").read_text(encoding="utf-8")
    report = json.loads((here / "r.json").read_text(encoding="utf-8"))
    answer = report["result"]["recommendation_name"]
    assert page.startswith("<!doctype html>") and f"<h1>Answer: {answer}</h1>" in page
    assert f"{report['hypotheses'][0]}: " in page and "mine.safetensors" in page
    assert report["model"] == "mine.safetensors"
    # What plays no part is null: a budget has neither price nor error probability.
    assert report["operating_point"]["error_prob"] is None
    assert report["operating_point"]["price"] is None
    lines = (here / "r.csv").read_text(encoding="utf-8").splitlines()
    _, *told = csv.reader(lines)
    assert [row[-1] for row in told] == ["0.25"] * 3
    capsys.readouterr()
    assert main(["replay", "r.json"]) == 0
    assert "The same, bit for bit" in capsys.readouterr().out
    assert main([*words, "--out", "r.html"]) == 2
    assert "add --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sqlite:///trial.db by-fil", "icpe sessions sqlite:///trial.db lists those"),
        ("sqlite:///trail.db by-file", "there is no file trail.db"),
        ("memory:// by-file", "ends with the process"),
        ("sqlite:///trial.db other", "names no model"),
        ("sqlite:///trial.db by-file --model none.safetensors", "neither a file nor"),
        ("sqlite:///trial.db by-file --out r.pdf", "--out must end with .html, .json"),
        ("sqlite:///trial.db by-file --model binary-search-8", "belongs to the"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    here, words, sentence, capsys
):
    extra = [] if "--out" in words else ["--out", "new.html"]
    before = {it.name for it in here.iterdir()}
    assert main(["report", *words.split(), *extra]) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.strip().splitlines()) == 1
    assert {it.name for it in here.iterdir()} - before <= {"trial.db-shm"}
