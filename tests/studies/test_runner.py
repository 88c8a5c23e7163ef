"""Runs skip what is done, lose at most the cell in flight, and survive bad cells."""

import dataclasses
import json

import pytest

from icpe.core.errors import InvalidParameterError, UnknownNameError
from icpe.studies.durations import parse_duration
from icpe.studies.models import OutOfTimeError
from icpe.studies.runner import Selection, main, run_study, summary
from icpe.studies.study import AbstractMeasure, Cell, Study


@dataclasses.dataclass(frozen=True)
class Number(AbstractMeasure):
    """Gives its number, or trouble."""

    number: int
    trouble: str = ""

    def run(self, bench, seed):
        match self.trouble:
            case "bad":
                raise InvalidParameterError("number must be good; got a bad one.")
            case "bug":
                raise ZeroDivisionError("one\nover nothing")
            case "time":
                raise OutOfTimeError("It ran out of time.")
            case "interrupt":
                raise KeyboardInterrupt
        return {"number": self.number, "seed": seed}


def a_study(*measures, name="numbers"):
    cells = (Cell(f"n={m.number}", "it", m, m.number) for m in measures)
    return Study(name, "Numbers", "Just numbers.", tuple(cells), lambda results: [])


def test_a_record_says_what_was_measured_and_how(tmp_path):
    study = a_study(Number(3))
    outcome = run_study(study, tmp_path)
    assert outcome.done == ("n=3/it/seed=3",)
    (path,) = (tmp_path / "numbers").iterdir()
    assert path.name == "n=3--it--seed=3.json"
    record = json.loads(path.read_text())
    assert record["result"] == {"number": 3, "seed": 3}
    assert record["configuration"]["measure"] == {"kind": "Number", "number": 3}
    assert record["seeds"] == {"training": 3, "episodes": 3}
    for name in ("icpe", "jax", "numpy", "python", "device", "seconds", "date"):
        assert name in record
    assert study.results(tmp_path).first("n=3", "it") == record["result"]


def test_what_is_done_is_skipped_here_and_elsewhere(tmp_path):
    study, here, there = a_study(Number(0), Number(1)), tmp_path / "a", tmp_path / "b"
    run_study(study, there, selection=Selection(("n=0/*",)))
    outcome = run_study(study, here, also=there)
    assert outcome.skipped == ("n=0/it/seed=0",)
    assert outcome.done == ("n=1/it/seed=1",)
    assert run_study(study, here, also=there).done == ()
    assert summary(outcome) == "Cells: 1 done, 1 were done before."


def test_a_result_of_another_configuration_is_measured_again(tmp_path):
    run_study(a_study(Number(0)), tmp_path)
    changed = Study(
        "numbers", "", "", (Cell("n=0", "it", Number(5), 0),), lambda results: []
    )
    assert changed.results(tmp_path).missing == changed.cells
    assert run_study(changed, tmp_path).done == ("n=0/it/seed=0",)
    assert changed.results(tmp_path).first("n=0", "it") == {"number": 5, "seed": 0}


def test_a_cell_that_fails_is_explained_and_the_others_go_on(tmp_path):
    said = []
    study = a_study(Number(0, "bad"), Number(1, "bug"), Number(2))
    outcome = run_study(study, tmp_path, say=said.append)
    assert outcome.done == ("n=2/it/seed=2",)
    assert outcome.failed == (
        ("n=0/it/seed=0", "number must be good; got a bad one."),
        ("n=1/it/seed=1", "ZeroDivisionError: one over nothing"),
    )
    assert (
        "numbers 1/3 n=0/it/seed=0 failed: number must be good; got a bad one." in said
    )
    assert summary(outcome).endswith("2 failed.")


def test_a_training_that_runs_out_of_time_is_left_for_another_run(tmp_path):
    outcome = run_study(a_study(Number(0, "time"), Number(1)), tmp_path)
    assert outcome.left == ("n=0/it/seed=0",)
    assert outcome.done == ("n=1/it/seed=1",)
    assert not outcome.failed


def test_no_cell_begins_after_the_time_limit(tmp_path):
    outcome = run_study(a_study(Number(0), Number(1)), tmp_path, time_limit=0.0)
    assert outcome.done == ()
    assert len(outcome.left) == 2


def test_an_interrupt_costs_the_cell_in_flight_alone(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_study(a_study(Number(0), Number(1, "interrupt"), Number(2)), tmp_path)
    study = a_study(Number(0), Number(1), Number(2))
    assert [cell.row for cell in study.results(tmp_path).missing] == ["n=1", "n=2"]


def test_cells_are_chosen_by_pattern_and_seed():
    study = a_study(Number(0), Number(1), Number(12))
    free = Cell("n=0", "limit", Number(9))
    study = dataclasses.replace(study, cells=(*study.cells, free))
    names = [cell.name for cell in Selection(("n=1*",)).of(study)]
    assert names == ["n=1/it/seed=1", "n=12/it/seed=12"]
    names = [cell.name for cell in Selection(seeds=(1,)).of(study)]
    assert names == ["n=1/it/seed=1", "n=0/limit"]
    with pytest.raises(UnknownNameError, match="fits no cell of 'numbers'"):
        Selection(("m=*",)).of(study)


@pytest.mark.parametrize(
    "text, seconds", [("90", 90), ("90s", 90), ("1.5m", 90), ("1h", 3600)]
)
def test_durations_are_read_as_people_write_them(text, seconds):
    assert parse_duration(text) == seconds


def test_the_program_runs_limits_and_refuses_what_it_does_not_know(tmp_path, capsys):
    words = ["binary-search", "--sizes", "tiny", "--cells", "*/limit", "--out"]
    assert main([*words, str(tmp_path)]) == 0
    assert "Cells: 2 done" in capsys.readouterr().out
    assert main(["no-such-study", "--out", str(tmp_path)]) == 2
    assert "There is no study 'no-such-study'" in capsys.readouterr().err
    assert main([*words[:-2], "K=99/*", "--out", str(tmp_path)]) == 2
    assert main(["binary-search", "--time-limit", "soon"]) == 2
