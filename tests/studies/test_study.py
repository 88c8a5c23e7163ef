"""Studies are declared in full: every cell has a name and a key of its own."""

import dataclasses
import json

import pytest

from icpe.core.errors import DataError, UnknownNameError
from icpe.families.binary_search import BinarySearch
from icpe.studies.catalog import make_study, study_names
from icpe.studies.measures import Baseline, Evaluation, Trained
from icpe.studies.study import Cell, Results, plain
from icpe.studies.tables import NOT_RUN

MEASURE = Evaluation(BinarySearch(size=4), Baseline("uniform"), (0.1,))
CELL = Cell("K=4", "uniform", MEASURE)


@pytest.mark.parametrize("name", study_names())
@pytest.mark.parametrize("size", ["full", "tiny"])
def test_cells_of_a_study_are_told_apart(name, size):
    study = make_study(name, size)
    assert study.name == name
    assert len({cell.name for cell in study.cells}) == len(study.cells)
    assert len({cell.file_name for cell in study.cells}) == len(study.cells)
    assert len({cell.key for cell in study.cells}) == len(study.cells)
    assert len(set(study.cells)) == len(study.cells)
    for cell in study.cells:
        json.dumps(cell.configuration(), allow_nan=False)


@pytest.mark.parametrize("name", study_names())
def test_a_study_without_results_shows_its_rows_as_not_run(name):
    study = make_study(name)
    tables = study.tables(Results(study.cells, {}))
    assert tables
    for table in tables:
        assert table.rows
        assert NOT_RUN in table.markdown()


def test_the_key_of_a_cell_is_the_same_on_every_machine():
    # Printed once and kept: results lie in files under this key.
    assert CELL.key == "41864d455e6a3a6f"
    assert CELL.key == dataclasses.replace(CELL).key


def test_the_key_of_a_cell_follows_its_configuration():
    other = dataclasses.replace(MEASURE, episodes=11)
    assert dataclasses.replace(CELL, measure=other).key != CELL.key
    assert dataclasses.replace(CELL, seed=0).key != CELL.key


def test_fields_at_their_default_are_left_out_of_a_configuration():
    assert plain(MEASURE) == {
        "kind": "Evaluation",
        "family": {"name": "binary-search", "parameters": {"size": 4, "horizon": 0}},
        "explorer": {"kind": "Baseline", "name": "uniform"},
        "error_probs": [0.1],
    }


def test_models_are_shared_by_the_studies_that_need_them():
    def models(name):
        return {
            cell.measure.explorer.model.file_name
            for cell in make_study(name).cells
            if isinstance(cell.measure, Evaluation)
            and isinstance(cell.measure.explorer, Trained)
        }

    assert models("stochastic-bandits") == models("stochastic-bandits-budget")
    assert models("any-error-probability") == models("stochastic-bandits")
    assert models("distribution-shift") < models("stochastic-bandits")
    assert len(models("stochastic-bandits")) == 3
    # One for all numbers of arms, and DQN for each.
    assert len(models("deterministic-bandits")) == 10


def test_an_unknown_study_is_answered_with_the_one_that_was_meant():
    with pytest.raises(UnknownNameError, match="did you mean 'binary-search'"):
        make_study("binary-serch")


def test_damaged_results_are_named(tmp_path):
    study = make_study("binary-search", "tiny")
    path = study.path(study.cells[0], tmp_path)
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        study.results(tmp_path)
    path.write_text("[]")
    with pytest.raises(DataError, match="not a JSON object"):
        study.results(tmp_path)
