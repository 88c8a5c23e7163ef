"""Trained explorers are found, not trained again, and time limits are kept."""

import dataclasses

import pytest

from icpe.families.binary_search import BinarySearch
from icpe.families.deterministic_bandit import DeterministicBandit
from icpe.studies.measures import Baseline, Evaluation, Optimum, Trained, at
from icpe.studies.models import Bench, Model, OutOfTimeError
from icpe.studies.tiny import TINY
from support.toy_artifacts import guesser

MODEL = Model(BinarySearch(size=2))


@pytest.fixture
def bench(tmp_path):
    guesser(2).save(tmp_path / MODEL.file_name)
    return Bench(tmp_path)


def test_a_file_that_is_there_is_not_trained_again(bench):
    assert bench.artifact(MODEL).weights_hash == guesser(2).weights_hash


@pytest.mark.slow
def test_on_a_gpu_seeds_are_trained_together_but_for_those_there(
    tmp_path, optax_dtypes
):
    model = Model(
        BinarySearch(size=4),
        seed=1,
        config=TINY,
        calibration_episodes=8,
        seeds=(0, 1, 2),
    )
    there = dataclasses.replace(model, seed=0)
    (tmp_path / there.file_name).write_text("not to be touched")
    artifact = Bench(tmp_path, machine="gpu").artifact(model)
    assert artifact.provenance["side_by_side"] == [1, 2]
    other = dataclasses.replace(model, seed=2)
    late = Bench(tmp_path, machine="gpu", deadline=0.0)
    assert late.artifact(other).training["seed"] == 2
    assert late.artifact(other).weights_hash != artifact.weights_hash
    assert (tmp_path / there.file_name).read_text() == "not to be touched"


def test_nothing_is_trained_when_the_time_is_up(bench):
    late = dataclasses.replace(bench, deadline=0.0)
    with pytest.raises(OutOfTimeError, match="no time left to train binary-search-2"):
        late.artifact(dataclasses.replace(MODEL, seed=1))


def test_the_name_of_a_model_tells_all_that_matters_apart():
    others = [
        dataclasses.replace(MODEL, seed=1),
        dataclasses.replace(MODEL, learner="dqn"),
        dataclasses.replace(MODEL, config=TINY),
        dataclasses.replace(MODEL, calibration_episodes=1),
        dataclasses.replace(MODEL, family=BinarySearch(size=2, horizon=5)),
    ]
    assert len({model.file_name for model in (MODEL, *others)}) == 6


def test_a_configuration_has_the_seed_of_its_model():
    seeded = dataclasses.replace(MODEL, seed=7)
    assert seeded.configuration("cpu").seed == 7
    assert dataclasses.replace(seeded, config=TINY).configuration("gpu").width == 8
    dqn = dataclasses.replace(seeded, learner="dqn").configuration("cpu")
    assert (dqn.seed, dqn.reward, dqn.budget) == (7, "environment", 2)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_baseline_is_measured_at_every_request(tmp_path):
    family = BinarySearch(size=2)
    measure = Evaluation(
        family,
        Baseline("uniform"),
        error_probs=(0.1,),
        curve_error_probs=(0.6, 0.1),
        statistics=("distinct", "first-query"),
        episodes=256,
    )
    result = measure.run(Bench(tmp_path), seed=0)
    report = at(result, "error_prob", "0.1")
    # One query always tells which of two numbers it is; without one it is a guess.
    assert (report["accuracy"], report["mean_queries"]) == (1.0, 1.0)
    assert report["distinct"] == 0.5
    # 256 fair coins: off by 0.16 with probability below 1e-6.
    assert abs(report["first_query_share"] - 0.5) < 0.16
    guess, sure = result["curve"]
    assert (guess["mean_queries"], sure["mean_queries"]) == (0.0, 1.0)
    assert abs(guess["accuracy"] - 0.5) < 0.16 and sure["accuracy"] == 1.0


def test_the_share_of_arms_tried_is_of_those_that_the_task_has(tmp_path):
    family = DeterministicBandit(num_arms=5, vary_arms=True, fewest_arms=3, most_arms=3)
    measure = Evaluation(
        family,
        Baseline("top-two"),
        budgets=(2, 3),
        statistics=("distinct",),
        episodes=64,
    )
    result = measure.run(Bench(tmp_path), seed=0)
    assert at(result, "budget", "2")["distinct"] == pytest.approx(2 / 3)
    assert at(result, "budget", "3")["accuracy"] == 1.0
    assert at(result, "budget", "3")["distinct"] == 1.0


@pytest.mark.slow
def test_a_request_that_cannot_be_served_is_recorded(bench):
    measure = Evaluation(
        MODEL.family, Trained(MODEL), error_probs=(0.6, 0.01), episodes=64
    )
    result = measure.run(bench, seed=0)
    assert at(result, "error_prob", "0.6")["mean_queries"] == 0.0
    assert (
        "smaller than this explorer can serve"
        in (at(result, "error_prob", "0.01")["unserved"])
    )


def test_limits_are_those_of_the_bounds(tmp_path):
    found = Optimum(BinarySearch(size=8)).run(Bench(tmp_path), seed=0)
    assert found["mean_queries"] == 2.125 and found["max_queries"] == 3
