"""The study of digits, all of it, at a size that says nothing about its results."""

import json

import pytest

from icpe.artifact import Artifact
from icpe.studies.digits import scores as digits_scores
from icpe.studies.digits import study as digits


@pytest.mark.slow
def test_every_part_reads_what_the_earlier_ones_left(tmp_path, optax_dtypes):
    setup = digits.TINY
    for train in (
        digits.train_classifier,
        digits.train_values,
        digits.train_bandit,
        digits.train_ours,
    ):
        train(setup, tmp_path)
    digits_scores.evaluate_paper(setup, tmp_path)
    digits_scores.evaluate_ours(setup, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    curves = results["evaluate-paper"]["curves"] | results["evaluate-ours"]["curves"]
    assert len(curves) == 9
    for rows in curves.values():
        assert [row["budget"] for row in rows] == [1, 2, 3]
        assert all(row["mean_regions"] <= row["budget"] for row in rows)
        assert sum(rows[-1]["selections"]["trajectories"]) == rows[-1]["episodes"]
    assert all(row["mean_regions"] == row["budget"] for row in curves["ours"])

    artifact = Artifact.load(tmp_path / "digits.safetensors")
    assert artifact.table is not None
    assert artifact.family == setup.without_repeats("test")
