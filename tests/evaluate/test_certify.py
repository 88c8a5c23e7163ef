"""Certificates of an explorer that is right half of the time, at every price."""

import dataclasses

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from icpe.artifact.certificate import Certificate
from icpe.artifact.serving import serve
from icpe.core.errors import ArtifactError, InvalidParameterError, OperatingPointError
from icpe.core.request import Request
from icpe.evaluate.benchmark import evaluate
from icpe.evaluate.certify import certify
from icpe.evaluate.verify import verify
from icpe.families import NoisyBinarySearch
from icpe.play.rollout import run_episodes
from icpe.theory.fixed_sequence import trials_needed
from support.toy_artifacts import guesser

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


def forged(artifact, **changes):
    """The artifact with its certificate edited, and sealed again by the forger."""
    certificate = Certificate.from_dict(artifact.certificates[-1])
    changed = dataclasses.replace(certificate, **changes).sealed()
    return dataclasses.replace(artifact, certificates=(changed.to_dict(),))


def nudged(artifact):
    """The artifact with one weight changed a little."""
    nets = eqx.tree_at(
        lambda nets: nets.pair.query_embedding,
        artifact.nets,
        replace_fn=lambda weights: weights.at[0, 0, 0].add(1e-3),
    )
    return dataclasses.replace(artifact, nets=nets)


def test_what_is_true_by_a_wide_margin_is_certified(certificate):
    assert certificate.certified is True
    # All prices behave alike, so calibration sees no reason to try more than one.
    assert [test.price for test in certificate.ladder] == [0.05]
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
    right = certificate.ladder[0].successes + certificate.bound_successes
    expected = trials_needed(right / (2 * EPISODES), 0.49, 0.95, 0.95)
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


def test_another_seed_and_every_attempt_are_recorded(artifact):
    for attempt, seed in enumerate([None, 5, None], start=1):
        certificate = certify(artifact, error_prob=0.4, episodes=EPISODES, seed=seed)
        assert certificate.attempt == attempt
        assert certificate.seed_is_default == (seed is None)
        artifact = artifact.with_certificate(certificate)
    assert [it["certified"] for it in artifact.certificates] == [False] * 3


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


def test_a_certificate_survives_the_file_and_is_verified(certified, tmp_path):
    path = tmp_path / "explorer.safetensors"
    certified.save(path)
    loaded = type(certified).load(path)
    result = verify(loaded, 0.6)
    assert result.verified, result.problems
    assert result.successes == result.certificate.bound_successes
    assert loaded.serve(error_prob=0.6).certified


def test_fresh_episodes_confirm_it(certified):
    result = verify(certified, 0.6, seed=1)
    assert result.verified, result.problems
    assert result.fresh
    assert result.successes != result.certificate.bound_successes


@pytest.mark.parametrize(
    "field, value",
    [
        ("price", 0.1),
        ("mean_queries", 1.0),
        ("bound_successes", 300),
        ("digest", "0" * 32),
    ],
)
def test_an_edited_certificate_is_noticed_and_does_not_serve(certified, field, value):
    record = {**certified.certificates[-1], field: value}
    edited = dataclasses.replace(certified, certificates=(record,))
    problems = verify(edited, 0.6).problems
    assert "The certificate was changed after it was made." in problems
    assert not edited.serve(error_prob=0.7).certified


def test_an_edited_table_is_noticed(certified):
    table = certified.table
    row = dataclasses.replace(table.rows[0], accuracy=0.99)
    edited = dataclasses.replace(
        certified, table=dataclasses.replace(table, rows=(row, *table.rows[1:]))
    )
    [problem] = verify(edited, 0.6).problems
    assert "operating table was changed" in problem


def test_other_networks_are_noticed(certified):
    edited = nudged(certified)
    assert "networks are not those" in verify(edited, 0.6).problems[0]
    assert not edited.serve(error_prob=0.7).certified


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"price": 0.1}, "not one that passed"),
        ({"price": 7.0}, "cannot be played: price must lie in the trained range"),
        ({"lower_bound": 0.9}, "give the lower bound 0.4"),
        ({"bound_successes": 400, "lower_bound": 0.7466}, "episodes give 2"),
        ({"error_prob": 0.4}, "do not lead to the recorded outcomes"),
        ({"seed": 3}, "not the hash of weights and family"),
    ],
)
def test_a_forgery_with_a_right_seal_is_found_by_repeating(
    certified, changes, sentence
):
    problems = verify(forged(certified, **changes), 0.6).problems
    assert any(sentence in problem for problem in problems), problems


def test_a_forgery_whose_numbers_fit_is_found_by_repeating_the_test(certified):
    [test] = Certificate.from_dict(certified.certificates[-1]).ladder
    better = dataclasses.replace(test, successes=400)
    problems = verify(forged(certified, ladder=(better,)), 0.6).problems
    assert len(problems) == 1 and "gave 400 right answers" in problems[0]


def test_fresh_episodes_contradict_a_bold_forgery(certified):
    [test] = Certificate.from_dict(certified.certificates[-1]).ladder
    bold = dataclasses.replace(test, successes=500)
    edited = forged(certified, error_prob=0.1, ladder=(bold,))
    problems = verify(edited, 0.1, seed=1).problems
    assert len(problems) == 1 and "Fresh episodes contradict" in problems[0]


def test_what_is_not_there_cannot_be_verified(certified):
    with pytest.raises(
        ArtifactError, match=r"0.5 with confidence 0.95; it has 0.6 with"
    ):
        verify(certified, 0.5)
    with pytest.raises(ArtifactError, match="none at all"):
        verify(certified, budget=1)


def test_the_only_certificate_needs_no_name(artifact, certified):
    refused = certify(artifact, error_prob=0.4, episodes=EPISODES)
    assert refused.certified is False
    both = certified.with_certificate(refused)
    assert verify(both, seed=1).certificate.error_prob == 0.6
    for nothing in (artifact, artifact.with_certificate(refused)):
        with pytest.raises(ArtifactError, match="The file has no certificate; make"):
            verify(nothing)


def test_one_of_several_certificates_is_to_be_named(certified):
    record = certified.certificates[-1]
    others = [
        record | {"error_prob": 0.7},
        record | {"error_prob": None, "certified": None, "budget": 10},
        record | {"error_prob": None, "certified": None, "budget": 9},
    ]
    several = dataclasses.replace(certified, certificates=(record, *others))
    names = "error_prob 0.6, error_prob 0.7, budget 9, budget 10; say which"
    with pytest.raises(ArtifactError, match=names):
        verify(several)


def test_the_certificate_that_would_serve_is_checked(certified):
    record = certified.certificates[-1]
    weak = record | {"confidence": 0.9}
    both = dataclasses.replace(certified, certificates=(weak, record))
    assert verify(both, seed=1).certificate.confidence == 0.95
    alone = dataclasses.replace(certified, certificates=(weak,))
    with pytest.raises(ArtifactError, match=r"ask for confidence 0.9, or make one"):
        verify(alone)
    with pytest.raises(ArtifactError, match=r"0.6 with confidence 0.9; make"):
        verify(alone, 0.6)
    assert verify(alone, confidence=0.9, seed=1).certificate.confidence == 0.9
    again = record | {"attempt": 2}
    for records in ((record, again), (again, record)):
        tried = dataclasses.replace(certified, certificates=records)
        assert verify(tried, seed=1).certificate.attempt == 1
    renewed = (record | {"table": "another"}, again)
    recalibrated = dataclasses.replace(certified, certificates=renewed)
    assert verify(recalibrated, seed=1).certificate.attempt == 2


@pytest.mark.parametrize(
    "request_, error, sentence",
    [
        ({}, OperatingPointError, "got none of them"),
        ({"error_prob": 0.1, "budget": 1}, OperatingPointError, "error_prob and budg"),
        ({"error_prob": 1.5}, OperatingPointError, "strictly between 0 and 1"),
        ({"budget": 99}, OperatingPointError, "between 1 and the family's horizon"),
        ({"error_prob": 0.1, "episodes": 9}, InvalidParameterError, "at least 29"),
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


def test_the_episodes_of_a_test_are_those_of_the_documented_key(artifact, certificate):
    key = jr.fold_in(jr.fold_in(jr.key(certificate.seed), 0x0CE47), 0)
    point = artifact.operating_point(price=0.05)
    ending = run_episodes(artifact.explorer, artifact.family, point, EPISODES, key=key)
    assert np.sum(ending.correct) == certificate.ladder[0].successes
