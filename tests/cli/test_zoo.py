"""`icpe zoo`, and explorers of the zoo in every command that takes an explorer."""

import pytest

from icpe import Artifact, zoo
from icpe.cli.explorers import resolve
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from support.toy_artifacts import guesser

NAME = "binary-search-8"


def test_the_zoo_is_listed_with_what_one_may_ask(icpe):
    cards = {card["name"]: card for card in icpe("zoo --json").json}
    assert tuple(cards) == zoo.names()
    card = cards[NAME]
    assert card["family"]["name"] == "binary-search"
    assert card["family"]["parameters"]["size"] == 8
    assert card["certified_error_prob"] == 0.01
    assert 0 < card["smallest_error_prob"] <= 0.01
    assert card["largest_budget"] == zoo.load(NAME).family.spec.horizon
    assert card["size_bytes"] == zoo.path(NAME).stat().st_size
    assert card["training_seconds"] > 0
    assert NAME in icpe("zoo").out


def test_one_explorer_is_copied_to_a_file(icpe, tmp_path):
    copy = tmp_path / "mine.safetensors"
    called = icpe(f"zoo {NAME} --out {copy} --json")
    (card,) = called.json
    assert card["name"] == NAME
    assert called.err == f"{NAME} copied to {copy}\n"
    assert copy.read_bytes() == zoo.path(NAME).read_bytes()
    assert "--out needs the NAME" in icpe(f"zoo --out {copy}").err
    called = icpe(f"zoo {NAME} --out {tmp_path}/no/folder.safetensors")
    assert called.status == 2
    assert "cannot be written" in called.err


def test_a_file_that_is_there_is_replaced_only_when_told_so(icpe, tmp_path):
    copy = tmp_path / "mine.safetensors"
    copy.write_text("certified with much work")
    called = icpe(f"zoo {NAME} --out {copy}")
    assert (called.status, called.out) == (2, "")
    assert called.err == (
        f"icpe: --out {copy} exists; choose a new name, or add --overwrite to replace "
        "it.\n"
    )
    assert copy.read_text() == "certified with much work"
    called = icpe(f"zoo {NAME} --out {copy} --overwrite")
    assert called.status == 0
    assert called.out.startswith(f"{NAME} copied to {copy}\n")
    assert copy.read_bytes() == zoo.path(NAME).read_bytes()


def test_a_name_is_an_explorer_alone_beside_a_baseline_and_inside_another():
    words = [NAME, "uniform", f"i-dpt:{NAME}"]
    cast = resolve(words, None, {})
    trained, _, wrapped = cast.explorers.values()
    assert isinstance(trained, Artifact)
    assert cast.family == trained.family
    assert isinstance(wrapped, BeliefExplorer) and wrapped.name == "i-dpt"


def test_a_name_is_shown_like_a_file(icpe):
    called = icpe(f"show {NAME}")
    assert called.status == 0, called.err
    assert called.out.startswith(f"{NAME} explores binary-search(size=8")
    assert icpe(f"show {NAME} --json").json["family"]["name"] == "binary-search"


def test_a_file_with_a_folder_or_a_suffix_comes_before_the_zoo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guesser(size=2).save(tmp_path / NAME)
    guesser(size=2).save(tmp_path / f"{NAME}.safetensors")
    for word, size in ((NAME, 8), (f"./{NAME}", 2), (f"{NAME}.safetensors", 2)):
        family = resolve([word], None, {}).family
        assert family.spec.num_queries == size, word


def test_a_shipped_explorer_is_never_changed(icpe):
    for command in (f"certify {NAME} --error-prob 0.1", f"calibrate {NAME}"):
        called = icpe(command)
        assert called.status == 2
        assert f"icpe zoo {NAME} --out FILE" in called.err


def test_an_unknown_explorer_is_answered_with_all_that_there_are(icpe):
    called = icpe("evaluate nobody --family binary-search --budget 2")
    assert called.status == 2
    assert "There is no explorer 'nobody': it is not a file, not in" in called.err
    assert NAME in called.err
    assert "top-two" in called.err
    called = icpe("evaluate binary-search-7 --budget 2")
    assert f"did you mean '{NAME}'?" in called.err
    called = icpe("show nobody")
    assert called.status == 2
    assert "'nobody' is not a file, and the zoo has no explorer" in called.err
    called = icpe("zoo nobody")
    assert called.status == 2
    assert called.err.count("\n") == 1


@pytest.mark.slow
def test_a_name_plays_and_is_evaluated(icpe):
    called = icpe(f"play {NAME} --error-prob 0.01")
    assert called.status == 0, called.err
    assert "The answer:" in called.out
    called = icpe(f"evaluate {NAME} --error-prob 0.01 --episodes 64 --json")
    assert called.status == 0, called.err
    assert called.json["explorer"] == NAME
    assert called.json["certified"] is True
    assert called.json["accuracy"] >= 0.9  # fails with probability 1e-5 at 0.99
