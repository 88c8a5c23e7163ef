"""`icpe study` from the command line, with cells that need no training."""

import pytest


def test_studies_are_listed_with_their_cells(icpe, tmp_path):
    called = icpe(f"study list --json --out {tmp_path}")
    assert called.status == 0
    (search,) = [one for one in called.json if one["name"] == "binary-search"]
    assert search["run"] == 0 and "K=256/ours/seed=2" in search["cells"]
    assert "binary-search" in icpe(f"study list --out {tmp_path}").out


def test_a_study_is_listed_alone(icpe, tmp_path):
    called = icpe(f"study list binary-search --json --out {tmp_path}")
    assert [one["name"] for one in called.json] == ["binary-search"]
    assert icpe(f"study list binary-serch --out {tmp_path}").status == 2


def test_a_report_asks_for_the_sizes_that_were_run(icpe, tmp_path):
    words = f"binary-search --out {tmp_path}"
    cells = "K=8/limit K=8/information-gain"
    assert icpe(f"study run {words} --sizes tiny --cells {cells}").status == 0
    called = icpe(f"study report {words}")
    assert "cells have results" in called.err and "--sizes tiny" in called.err


def test_a_seed_changes_nothing_and_a_run_says_so(icpe, tmp_path):
    called = icpe(f"study list --seed 1 --out {tmp_path}")
    assert (called.status, called.err) == (0, "")
    words = f"study run binary-search --sizes tiny --out {tmp_path} --cells K=4/limit"
    called = icpe(f"{words} --seed 1")
    assert called.status == 0
    assert "--seed 1 is not used, since cells have seeds of their own" in called.err


def test_a_study_is_run_and_reported(icpe, tmp_path):
    words = f"binary-search --sizes tiny --out {tmp_path}"
    called = icpe(f"study run {words} --cells K=4/limit K=8/limit --json")
    assert called.status == 0
    assert called.json["binary-search"]["done"] == ["K=4/limit", "K=8/limit"]
    again = icpe(f"study run {words} --cells */limit")
    assert again.out == "binary-search. Cells: 0 done, 2 were done before.\n"
    report = icpe(f"study report {words} --json")
    assert report.status == 0
    assert "2 of " in report.err and "--sizes" not in report.err
    page = tmp_path / "reports" / "binary-search" / "binary-search.html"
    assert str(page) == report.json["files"][0] and page.exists()


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("study run", "The name of the study is missing"),
        ("study run binary-serch", "did you mean 'binary-search'?"),
        ("study run binary-search --cells K=7/*", "fits no cell of 'binary-search'"),
        ("study run binary-search --seeds 0 7", "--seeds 7 fits no cell"),
        ("study report binary-search", "has no result of binary-search"),
        ("study frobnicate", "'frobnicate' must be one of list, run, report"),
        ("study run binary-search --time-limit soon", "--time-limit must be a time"),
    ],
)
def test_bad_requests_are_answered_in_one_sentence(icpe, tmp_path, words, sentence):
    called = icpe(f"{words} --out {tmp_path}")
    assert called.status == 2
    assert sentence in called.err and called.err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_refused_before_any_cell(icpe, tmp_path):
    (tmp_path / "file").write_text("")
    for folder, reason in (
        ("/proc/x", "the folder cannot be made or written to"),
        (tmp_path / "file", "is a file, not a folder"),
    ):
        called = icpe(f"study run binary-search --out {folder} --cells K=8/limit")
        assert called.status == 2
        assert called.err.startswith(f"icpe: --out {folder} cannot hold results: ")
        assert reason in called.err and called.err.count("\n") == 1
