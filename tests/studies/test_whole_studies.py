"""Whole studies at sizes that say nothing: trained, interrupted, resumed, reported."""

import dataclasses
import time

import pytest

from icpe.families.binary_search import BinarySearch
from icpe.studies.catalog import make_study
from icpe.studies.models import Bench, Model, OutOfTimeError
from icpe.studies.report import write_report
from icpe.studies.runner import run_study
from icpe.studies.tiny import TINY

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("optax_dtypes")]


@pytest.mark.parametrize(
    "name",
    [
        "binary-search",
        "deterministic-bandits",
        "policy-statistics",
        "magic-room",
        "regret",
        "digits",
        "ablation",
    ],
)
def test_every_cell_of_a_study_can_be_run_and_reported(name, tmp_path):
    study = make_study(name, "tiny")
    outcome = run_study(study, tmp_path)
    assert not outcome.failed and not outcome.left
    assert len(outcome.done) == len(study.cells)
    results = study.results(tmp_path)
    assert not results.missing
    page, *_ = write_report(study, results, tmp_path / "report")
    assert "cells have been run" in page.read_text(encoding="utf-8")


def test_a_training_that_ran_out_of_time_goes_on(tmp_path):
    # A chunk takes longer than this limit, so training stops after the first.
    model = Model(BinarySearch(size=4), config=TINY, calibration_episodes=8)
    bench = Bench(tmp_path)
    short = dataclasses.replace(bench, deadline=time.monotonic() + 0.01)
    with pytest.raises(OutOfTimeError, match="after 2 of 4 iterations; run the study"):
        short.artifact(model)
    assert not (tmp_path / model.file_name).exists()
    artifact = bench.artifact(model)
    assert artifact.provenance["iterations"] == 4
    assert (tmp_path / model.file_name).exists()
    assert not list(tmp_path.glob("*.checkpoint"))
