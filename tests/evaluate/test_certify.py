"""Certificates of an explorer that is right half of the time, at every price."""

import dataclasses

import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from icpe.artifact.serving import serve
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import Request
from icpe.evaluate.benchmark import evaluate
from icpe.evaluate.certify import certify
from icpe.evaluate.verify import verify
from icpe.families import NoisyBinarySearch
from icpe.play.rollout import run_episodes
from icpe.theory.betting import bets_needed
from support.certificates import fixed_sequence_certificate
from support.toy_artifacts import guesser, nudged

EPISODES = 512


@pytest.fixture(scope="module")
def artifact():
    return guesser()


@pytest.fixture(scope="module")
def certificate(artifact):
    return certify(artifact, error_prob=0.6, episodes=EPISODES)


@pytest.fixture(scope="module")
def certified(artifact, certificate):
    return artifact.with_certificate(certificate)


def test_what_is_true_by_a_wide_margin_is_certified(certificate):
    assert certificate.certified is True
    # All prices behave alike, so calibration sees no reason to try more than one.
    assert [test.price for test in certificate.ladder] == [0.05]
    assert 0 < (certificate.ladder[0].episodes or 0) <= EPISODES
    assert certificate.price == 0.05
    assert certificate.mean_queries == 0.0
    assert certificate.is_intact


def test_the_bound_is_that_of_its_own_episodes(certificate):
    x, n = certificate.bound_successes, certificate.episodes
    assert n == EPISODES
    at_bound = stats.binom.sf(x - 1, n, certificate.lower_bound)
    assert at_bound == pytest.approx(0.05)
    assert x != certificate.ladder[0].successes


def test_what_is_false_is_not_certified_and_no_number_of_episodes_would_do(artifact):
    certificate = certify(artifact, error_prob=0.4, episodes=EPISODES)
    assert certificate.certified is False
    assert certificate.price == 0.05
    assert certificate.episodes_needed is None
    # 0.5 +- 0.022 is far from 0.6; the bound still holds as a statement of its own.
    assert 0.4 < certificate.lower_bound < 0.5


def test_a_close_call_says_how_many_episodes_would_be_needed(artifact):
    # It is right half of the time; a fixed seed, since the default is of its weights.
    certificate = certify(artifact, error_prob=0.51, episodes=EPISODES, seed=1)
    assert certificate.certified is False
    [first] = certificate.ladder
    assert first.episodes is not None
    right = first.successes + certificate.bound_successes
    accuracy = right / (first.episodes + EPISODES)
    expected = bets_needed(accuracy, 0.49, 0.025, 0.95)
    assert certificate.episodes_needed == expected


def test_the_groups_add_up_and_the_explorer_is_right_about_zero_alone(certificate):
    zero, one = certificate.by_hypothesis
    assert (zero.name, zero.accuracy, one.name, one.accuracy) == ("0", 1.0, "1", 0.0)
    for groups in (certificate.by_hypothesis, certificate.by_difficulty):
        assert sum(group.episodes for group in groups) == EPISODES
        total = sum(group.successes for group in groups)
        assert total == certificate.bound_successes


def test_the_sets_of_episodes_never_meet(artifact, certificate):
    """Tests, bound and an evaluation with the same seed have other truths."""
    [report] = evaluate(
        {"it": artifact},
        artifact.family,
        price=0.05,
        episodes=EPISODES,
        seed=certificate.seed,
    )
    evaluated = round(report.accuracy * EPISODES)
    counts = (certificate.ladder[0].successes, certificate.bound_successes, evaluated)
    assert len(set(counts)) == 3


def test_the_default_seed_is_a_hash_of_the_weights(artifact, certificate):
    again = certify(artifact, error_prob=0.6, episodes=EPISODES)
    assert again == certificate
    assert certificate.seed_is_default
    other = nudged(artifact)
    assert certify(other, error_prob=0.6, episodes=EPISODES).seed != certificate.seed


def test_going_on_counts_all_episodes_and_is_the_same_attempt(artifact):
    first = certify(artifact, error_prob=0.515, episodes=2000)
    assert first.certified is False
    failed = artifact.with_certificate(first)
    on = certify(failed, error_prob=0.5145, episodes=4 * 2000)
    assert (on.attempt, on.level) == (first.attempt, first.level)
    assert (on.planned_error_prob, on.error_prob) == (0.515, 0.5145)
    [before], [after] = first.ladder, on.ladder
    assert before.episodes is not None and after.episodes is not None
    assert after.episodes > before.episodes
    key = attempt_key(on.seed, 1)
    point = artifact.operating_point(price=0.05)
    ending = run_episodes(
        artifact.explorer, artifact.family, point, after.episodes, key=key
    )
    assert np.sum(ending.correct) == after.successes
    assert np.sum(ending.correct[: before.episodes]) == before.successes


def test_asking_again_for_what_was_shown_changes_nothing(certified, certificate):
    again = certify(certified, error_prob=0.6, episodes=4 * EPISODES)
    assert again == certificate
    assert certified.with_certificate(again) is certified


def test_a_near_request_goes_on_and_a_far_one_is_another_attempt(certified):
    near = certify(certified, error_prob=0.62, episodes=EPISODES)
    assert near.attempt == 1
    assert near.ladder[0].episodes == certified.certificates[0]["ladder"][0]["episodes"]
    far = certify(certified.with_certificate(near), error_prob=0.7, episodes=EPISODES)
    assert (far.attempt, far.level) == (2, pytest.approx(0.0125))
    assert far.planned_error_prob == 0.7


def test_another_seed_another_table_and_old_tests_are_further_attempts(artifact):
    old = fixed_sequence_certificate(artifact, error_prob=0.6, episodes=EPISODES)
    artifact = artifact.with_certificate(old)
    levels = []
    for attempt, seed in enumerate([None, 5, 6, None], start=2):
        certificate = certify(artifact, error_prob=0.4, episodes=EPISODES, seed=seed)
        levels.append(certificate.level)
        assert certificate.attempt == (2 if attempt == 5 else attempt)
        assert certificate.seed_is_default == (seed is None)
        artifact = artifact.with_certificate(certificate)
    np.testing.assert_allclose(levels, [0.05 / 2**k for k in (2, 3, 4, 2)])
    table = dataclasses.replace(artifact.table, seed=1)
    recalibrated = dataclasses.replace(artifact, table=table)
    assert certify(recalibrated, error_prob=0.4, episodes=EPISODES).attempt == 5


@pytest.mark.slow
def test_a_budget_gets_a_lower_bound_and_nothing_else(artifact):
    certificate = certify(artifact, budget=1, episodes=EPISODES)
    assert (certificate.certified, certificate.price) == (None, None)
    assert (certificate.budget, certificate.mean_queries) == (1, 1.0)
    assert certificate.ladder == ()
    assert 0.4 < certificate.lower_bound < 0.5
    result = verify(artifact.with_certificate(certificate), budget=1)
    assert result.verified, result.problems


def test_a_certified_artifact_serves_and_reports_it(certified):
    family = certified.family
    service = certified.serve(error_prob=0.7)
    assert service.certified
    assert float(service.operating_point.price) == pytest.approx(0.05)
    [report] = evaluate({"it": certified}, family, error_prob=0.7, episodes=EPISODES)
    assert (report.certified, report.price) == (True, 0.05)
    assert (report.confidence, report.attempt) == (0.95, 1)


def test_a_cap_a_price_and_a_stricter_request_are_not_certified(certified):
    horizon = certified.family.spec.horizon
    assert certified.serve(error_prob=0.6, max_queries=horizon).certified
    assert not certified.serve(price=0.05).certified
    assert not certified.serve(error_prob=0.55).certified


def test_a_certificate_is_about_one_family(certified):
    request = Request(error_prob=0.6)
    assert serve(certified, request, certified.family).certified
    other = NoisyBinarySearch(size=2, noise=0.1, horizon=certified.family.spec.horizon)
    assert not serve(certified, request, other).certified


@pytest.mark.parametrize(
    "request_, error, sentence",
    [
        ({}, OperatingPointError, "got none of them"),
        ({"error_prob": 0.1, "budget": 1}, OperatingPointError, "error_prob and budg"),
        ({"error_prob": 1.5}, OperatingPointError, "strictly between 0 and 1"),
        ({"budget": 99}, OperatingPointError, "between 1 and the family's horizon"),
        ({"error_prob": 0.1, "episodes": 9}, InvalidParameterError, "at least 51"),
        ({"budget": 1, "episodes": 0}, InvalidParameterError, "at least 1"),
        ({"error_prob": 0.1, "confidence": 1.0}, InvalidParameterError, "confidence"),
        ({"error_prob": 1e-12}, InvalidParameterError, "at least 1e-9"),
    ],
)
def test_impossible_requests_are_refused(artifact, request_, error, sentence):
    with pytest.raises(error, match=sentence):
        certify(artifact, **request_)


def test_an_artifact_without_a_table_is_sent_to_calibration(artifact):
    with pytest.raises(OperatingPointError, match="icpe calibrate"):
        certify(dataclasses.replace(artifact, table=None), error_prob=0.6)


def attempt_key(seed, attempt):
    """The documented key of the test episodes of an attempt."""
    stream = jr.fold_in(jr.key(seed), 0x0CE47)
    return jr.fold_in(jr.fold_in(stream, 2), attempt)
