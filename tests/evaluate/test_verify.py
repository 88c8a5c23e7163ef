"""Certificates of an explorer that is right half of the time are checked again."""

import dataclasses

import pytest

from icpe.core.errors import ArtifactError
from icpe.evaluate.certify import certify
from icpe.evaluate.verify import verify
from support.toy_artifacts import guesser, nudged

EPISODES = 512


@pytest.fixture(scope="module")
def artifact():
    return guesser()


@pytest.fixture(scope="module")
def certified(artifact):
    certificate = certify(artifact, error_prob=0.6, episodes=EPISODES)
    return artifact.with_certificate(certificate)


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


def test_what_is_not_there_cannot_be_verified(certified):
    with pytest.raises(
        ArtifactError, match=r"0.5 with confidence 0.95; it has error_prob 0.6 with"
    ):
        verify(certified, 0.5)
    with pytest.raises(ArtifactError, match=r"for budget 1 .* it has error_prob 0.6"):
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
