"""Names of files that differ by a letter from one that is there."""

import shutil

import pytest

from icpe import zoo


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(zoo.path("binary-search-8"), "cases.safetensors")
    shutil.copy(zoo.path("binary-search-8"), "hidden.csv")
    (tmp_path / "cases.csv").write_text("fever,diagnosis\nyes,flu\n")
    return tmp_path


@pytest.mark.parametrize(
    "words, meant",
    [
        ("play cases.safetensor", "cases.safetensors"),
        ("play case.safetensors", "cases.safetensors"),
        ("play cases", "cases.safetensors"),
        ("show cases.safetensor", "cases.safetensors"),
        ("show ./case.safetensors", "cases.safetensors"),
        ("train-table case.csv --target diagnosis", "cases.csv"),
        ("bounds --likelihoods case.csv", "cases.csv"),
    ],
)
def test_the_file_that_was_meant_is_named(icpe, folder, words, meant):
    called = icpe(words)
    assert called.status == 2
    assert f"did you mean {meant}?" in called.err


@pytest.mark.parametrize("words", ["play nothing", "show nothing.safetensors"])
def test_nothing_is_suggested_where_nothing_is_near(icpe, folder, words):
    called = icpe(words)
    assert called.status == 2
    assert "did you mean" not in called.err


@pytest.mark.parametrize("name", ["cases.safetensors", "hidden.csv"])
def test_a_trained_explorer_is_not_a_table(icpe, folder, name):
    for words in (f"train-table {name} --target y", f"rule --items {name} --cuts 0"):
        called = icpe(f"{words} --out x.safetensors")
        assert called.status == 2
        assert f"{name} is an icpe file, not a table" in called.err
    called = icpe(f"rule --network {name} --target x --out x.safetensors")
    assert f"{name} is an icpe file, not a network" in called.err
