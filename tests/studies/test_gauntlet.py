"""The gauntlet: families that nobody tuned for, each with a rule to be held against."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.conformance import check_family
from icpe.explorers import explorers_for
from icpe.studies.catalog import make_study
from icpe.studies.gauntlet import FAMILIES, SEEDS, SMALL, AgainstTheRule, HiddenNumber
from icpe.studies.models import Bench, Model
from icpe.studies.report import write_report
from icpe.studies.runner import run_study
from icpe.studies.study import Results
from icpe.studies.tables import MET, MISSED, NOT_RUN, NOT_SERVED
from support.toy_artifacts import guesser

EVERY = {**FAMILIES, **SMALL}


@pytest.mark.parametrize(
    ("name", "families", "number"),
    [("gauntlet", FAMILIES, 11), ("gauntlet-cpu", SMALL, 3)],
)
def test_every_family_has_a_cell_for_each_of_its_seeds(name, families, number):
    study = make_study(name)
    assert len(study.cells) == number
    seeds = SEEDS if name == "gauntlet" else {}
    for row, family in families.items():
        cells = [cell for cell in study.cells if cell.row == row]
        assert tuple(cell.seed for cell in cells) == seeds.get(row, (0,))
        for cell in cells:
            assert isinstance(cell.measure, AgainstTheRule)
            model = cell.measure.model
            assert (model.family, model.seed, model.config) == (family, cell.seed, None)


@pytest.mark.parametrize("row", EVERY)
def test_every_family_has_the_rule_that_it_is_held_against(row):
    assert "information-gain" in explorers_for(EVERY[row])


def test_the_hidden_number_keeps_its_contract_and_gives_its_likelihood():
    family = HiddenNumber(size=4, lies=0.1, horizon=6)
    check_family(family)
    for answer in (-1.0, 0.0, 1.0):
        log = family.log_likelihood(
            jnp.asarray(1), jnp.asarray(3), jnp.asarray([answer])
        )
        assert np.exp(log) == pytest.approx(0.9 if answer == -1 else 0.05, rel=1e-5)


def record(*, ratio=None, accuracy=0.95, ours_at_horizon=0.999, smallest=0.002):
    """What a cell leaves behind, as it is read from its file."""
    level = {"accuracy": accuracy, "ours": 4.0, "rule": 4.0 if ratio else None}
    if ratio is not None:
        level |= {"ratio": ratio, "ratio_interval": (ratio - 0.01, ratio + 0.01)}
    result = {
        "levels": [level],
        "ours_at_horizon": ours_at_horizon,
        "smallest_error_prob": smallest,
        "trained": {"seconds": 12.0},
    }
    return json.loads(json.dumps({"result": result}))


def rows_of(name, **given):
    study = make_study(name, "tiny")
    records = {cell.name: record(**given) for cell in study.cells}
    (table,) = study.tables(Results(study.cells, records))
    return table


@pytest.mark.parametrize(
    ("name", "accuracy", "ratio", "verdict"),
    [
        ("gauntlet", 0.95, 1.02, MET),
        ("gauntlet", 0.95, 1.03, MISSED),
        ("gauntlet", 0.99, 1.04, MET),  # a looser limit where accuracy is high
        ("gauntlet-cpu", 0.9, 1.05, MET),
        ("gauntlet-cpu", 0.9, 1.06, MISSED),
    ],
)
def test_a_ratio_is_held_against_its_limit(name, accuracy, ratio, verdict):
    (row,) = rows_of(name, accuracy=accuracy, ratio=ratio).rows
    assert row[-1] == verdict
    assert f"{ratio:.3f}" in row[4]


def test_an_accuracy_that_is_not_served_misses():
    (row,) = rows_of("gauntlet", ratio=None).rows
    assert (row[4], row[-1]) == (NOT_SERVED, MISSED)


def test_the_remark_says_how_far_the_table_serves():
    (remark,) = rows_of("gauntlet", ratio=1.0).notes
    assert "errs with probability 0.0010 at the horizon" in remark
    assert f"serves down to 0.0020 ({MET})" in remark
    (remark,) = rows_of("gauntlet", ratio=1.0, smallest=0.05).notes
    assert MISSED in remark


def test_what_was_not_run_says_so():
    study = make_study("gauntlet")
    (table,) = study.tables(Results(study.cells, {}))
    assert len(table.rows) == 11
    assert all(set(row[1:]) == {NOT_RUN} for row in table.rows)


class Guessing(Bench):
    """Trains nobody; the explorer of every model guesses."""

    def artifact(self, model):
        return guesser(size=4)


def test_the_explorer_and_the_rule_play_the_same_family(tmp_path):
    family = guesser(size=4).family
    measure = AgainstTheRule(Model(family), accuracies=(0.6, 0.9), episodes=256)
    found = measure.run(Guessing(tmp_path), seed=0)
    # Binary search among four: never wrong after three guesses at most.
    assert found["rule_at_horizon"] == 1.0
    low, high = found["levels"]
    # A guess is right a quarter of the time, which is never enough.
    assert (low["ours"], high["ours"]) == (None, None)
    assert "ratio" not in low and "ratio" not in high
    # Never to err takes two guesses at most.
    assert 0 < low["rule"] < high["rule"] < 2
    # Five standard errors, exceeded with probability 6e-7.
    assert found["ours_at_horizon"] == pytest.approx(0.25, abs=5 * 0.44 / 16)


@pytest.mark.slow
@pytest.mark.usefixtures("optax_dtypes")
@pytest.mark.parametrize("name", ["gauntlet", "gauntlet-cpu"])
def test_a_tiny_gauntlet_is_trained_compared_and_reported(name, tmp_path):
    study = make_study(name, "tiny")
    outcome = run_study(study, tmp_path)
    assert not outcome.failed and len(outcome.done) == 1
    results = study.results(tmp_path)
    (found,) = results.of(study.cells[0].row, "ours")
    assert 0 < found["ours_at_horizon"] <= 1 and 0 < found["rule_at_horizon"] <= 1
    for level in found["levels"]:
        assert level["accuracy"] <= found["rule_at_horizon"] - 0.01 + 1e-9
        assert level["rule"] > 0
    page, *_ = write_report(study, results, tmp_path / "report")
    assert "1 of 1 cells have been run" in page.read_text(encoding="utf-8")
