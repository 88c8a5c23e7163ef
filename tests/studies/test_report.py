"""Reports show every cell; the page of results is what the results make it."""

import itertools
import json
import pathlib

import pytest

from icpe.studies.catalog import make_study, study_names
from icpe.studies.figures import _apart
from icpe.studies.report import cell_table, results_page, write_report
from icpe.studies.results import page_of
from icpe.studies.runner import Selection, run_study
from icpe.studies.study import Results
from icpe.studies.tables import ABSENT, MET, MISSED

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_the_page_of_results_is_not_stale():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    assert page == page_of(DOCS), "docs/results.md is stale; run make results"


def test_the_page_of_results_names_every_cell_and_its_figures_exist():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    for name in study_names():
        study = make_study(name)
        section = page.split(f'<a id="{name}"></a>')[1]
        section = section.split('<a id="')[0]
        for cell in study.cells:
            assert f"| {cell.name} |" in section
        for figure in study.figures(study.results(DOCS / "data" / "results")):
            assert (DOCS / "figures" / "results" / f"{figure}.svg").exists()


def test_no_committed_result_is_of_another_configuration():
    for name in study_names():
        study = make_study(name)
        known = {cell.file_name: cell for cell in study.cells}
        for path in (DOCS / "data" / "results" / name).glob("*.json"):
            record = json.loads(path.read_text(encoding="utf-8"))
            assert record["key"] == known[path.name].key, path.name


def test_a_report_has_tables_figures_and_a_page(tmp_path):
    study = make_study("binary-search", "tiny")
    run_study(study, tmp_path, selection=Selection(("*/limit",)))
    results = study.results(tmp_path)
    page, *files = write_report(study, results, tmp_path / "report")
    names = {path.name for path in files}
    assert names >= {"binary-search.svg", "binary-search.png", "binary-search.md"}
    assert names >= {"binary-search.csv", "cells.csv"}
    text = page.read_text(encoding="utf-8")
    assert "2 of 8 cells have been run." in text
    assert '<img src="binary-search.svg"' in text
    assert "<p></p>" not in text
    assert len(cell_table(results).rows) == 8
    assert "| K=4/ours/seed=0 | not run |" in (
        (tmp_path / "report" / "binary-search.md").read_text(encoding="utf-8")
    )


def test_a_figure_shows_the_rule_that_was_run_on_an_axis_from_zero(tmp_path):
    study = make_study("binary-search", "tiny")
    cells = ("K=8/limit", "K=8/information-gain")
    run_study(study, tmp_path, selection=Selection(cells))
    (axes,) = study.figures(study.results(tmp_path))["binary-search"].axes
    assert {it.get_label() for it in axes.lines} == {"paper", "optimum", "exact IDS"}
    low, high = axes.get_ylim()
    assert low == 0.0 and high > 2.2


def searched(mean, most, accuracy):
    """The result of a trained explorer of binary search."""
    report = {
        "accuracy": accuracy,
        "accuracy_interval": [accuracy, 1.0],
        "mean_queries": mean,
        "mean_queries_interval": [mean, mean],
        "max_queries": most,
    }
    return {"error_prob": {"0.001": report, "0.01": report}}


@pytest.mark.parametrize(
    "mean, most, accuracy, expected",
    [
        (2.14, 3, 1.0, MET),
        (2.16, 3, 1.0, MISSED),  # more than 1 % above 2.125
        (2.125, 4, 1.0, MISSED),
        (2.125, 3, 0.99, MISSED),
    ],
)
def test_a_missed_target_is_marked_with_its_note(mean, most, accuracy, expected):
    study = make_study("binary-search")
    records = {
        "K=8/limit": {"result": {"mean_queries": 2.125, "max_queries": 3}},
        "K=8/ours/seed=0": {"result": searched(mean, most, accuracy)},
    }
    notes = {"K=8": "Twice the iterations gave the same."}
    (table,) = study.tables(Results(study.cells, records, notes))
    assert table.rows[0][0] == "K=8" and table.rows[0][-1] == expected
    noted = "K=8 misses the target. Twice the iterations gave the same." in table.notes
    assert noted == (expected == MISSED)


def test_notes_are_read_from_the_folder_of_the_results(tmp_path):
    study = make_study("binary-search", "tiny")
    (tmp_path / "notes.json").write_text('{"binary-search": {"K=4": "Tried it all."}}')
    assert study.results(tmp_path).notes == {"K=4": "Tried it all."}
    page = results_page([study], tmp_path, "figures/")
    assert "| [Binary search](#binary-search) | 8 | 0 | 0 |" in page


def test_a_remark_about_the_whole_study_stands_at_its_head(tmp_path):
    study = make_study("binary-search", "tiny")
    (tmp_path / "notes.json").write_text('{"binary-search": {"study": "Old & new."}}')
    page = results_page([study], tmp_path, "figures/")
    assert "cells have been run.\n\nOld & new.\n\n" in page
    written, *_ = write_report(study, study.results(tmp_path), tmp_path / "report")
    assert "<p>Old &amp; new.</p>" in written.read_text(encoding="utf-8")


def test_the_list_of_cells_says_what_was_trained():
    study = make_study("binary-search")
    about = {"date": "2026-01-01", "device": "cpu", "seconds": 1.0}
    about |= {"icpe": "0.1.0", "jax": "0.10"}
    trained = {"iterations": 9000, "device": "a GPU"}
    records = {
        "K=8/limit": {**about, "result": {}},
        "K=8/ours/seed=0": {**about, "result": {"trained": trained}},
    }
    table = cell_table(Results(study.cells, records))
    found = {row[0]: row[-1] for row in table.rows}
    assert found["K=8/limit"] == "–"
    assert found["K=8/ours/seed=0"] == "9,000 iterations, a GPU"


def test_names_beside_lines_keep_their_order_and_a_gap():
    placed = _apart([0.5, 0.5, 0.51, 0.9], gap=0.1)
    assert placed == sorted(placed)
    assert all(b - a > 0.0999 for a, b in itertools.pairwise(placed))
    assert placed[-1] == pytest.approx(0.9, abs=0.05)


def test_an_explorer_that_made_no_query_has_no_policy_to_show():
    study = make_study("policy-statistics")
    names = ("total_variation", "entropy", "largest", "running")
    records = {"K=14/ours/seed=0": {"result": {name: [] for name in names}}}
    results = Results(study.cells, records)
    (table,) = study.tables(results)
    assert table.rows[0] == ("ours", ABSENT, ABSENT, ABSENT)
    assert study.figures(results) == {}
