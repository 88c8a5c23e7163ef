"""`icpe certify` on an explorer that is right half the time, and on a trained one."""

import dataclasses
import errno
import io
import os
import types

import jax
import pytest
from rich.console import Console

from icpe.artifact import Artifact
from icpe.artifact.certificate import Group
from icpe.cli.certificate_words import groups_table, what_would_do
from support.certificates import unearned_certificate
from support.toy_artifacts import guesser

KEYS = ("certified", "error_prob", "confidence", "lower_bound", "episodes", "price")


@pytest.fixture(autouse=True)
def compiled_programs_of_the_tests(monkeypatch):
    """Commands leave the cache of compiled programs alone, which the tests have set."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "that of the tests")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    return path


def tamper(path, **changes):
    artifact = Artifact.load(path)
    record = {**artifact.certificates[-1], **changes}
    dataclasses.replace(artifact, certificates=(record,)).save(path)


def test_a_certificate_is_printed_kept_and_used(icpe, file):
    called = icpe(f"certify {file} --error-prob 0.6 --episodes 512 --json")
    assert called.status == 0, called.err
    result = called.json
    assert set(KEYS) <= set(result)
    assert (result["certified"], result["error_prob"]) == (True, 0.6)
    assert (result["confidence"], result["episodes"]) == (0.95, 512)
    assert 0.4 < result["lower_bound"] < 0.5
    assert list(Artifact.load(file).certificates) == [result]
    evaluated = icpe(f"evaluate {file} --error-prob 0.7 --episodes 512 --json").json
    assert (evaluated["certified"], evaluated["price"]) == (True, result["price"])
    assert (evaluated["confidence"], evaluated["attempt"]) == (0.95, 1)


@pytest.mark.parametrize("attempt, words", [(1, ""), (2, " (attempt 2)")])
def test_commands_say_with_which_confidence_it_is_certified(
    icpe, tmp_path, monkeypatch, attempt, words
):
    artifact = guesser()
    file = tmp_path / "explorer.safetensors"
    certificate = unearned_certificate(
        error_prob=0.6,
        confidence=0.99,
        price=0.05,
        attempt=attempt,
        weights=artifact.weights_hash,
    )
    artifact.with_certificate(certificate).save(file)
    served = f"at price 0.05, certified with confidence 0.99{words}"
    evaluated = icpe(f"evaluate {file} --error-prob 0.7 --episodes 512").out
    last = f"{file} serves error probability 0.7 {served}"
    assert evaluated.splitlines()[-1] == last
    played = " ".join(icpe(f"play {file} --error-prob 0.7").out.split())
    assert f"plays binary-search(size=2) {served} Stopped" in played
    monkeypatch.setattr("builtins.input", lambda prompt="": "hit")
    asked = " ".join(icpe(f"play {file} --error-prob 0.7 --human").out.split())
    assert f"questions you: binary-search(size=2) {served} Asked for: at most" in asked


def test_names_with_brackets_are_printed_as_they_are():
    names = ("[/b]", "[cold]")
    wrong = tuple(Group(name, 10, 5, 2.0) for name in names)
    certificate = dataclasses.replace(unearned_certificate(), by_hypothesis=wrong)
    printed = io.StringIO()
    Console(file=printed).print(groups_table(certificate))
    assert all(name in printed.getvalue() for name in names)


def test_a_weak_certificate_is_kept_but_serves_nothing(icpe, file):
    weak = "--error-prob 0.6 --confidence 0.5 --episodes 512"
    called = icpe(f"certify {file} {weak}")
    assert called.status == 0, called.err
    assert "with confidence 50 %." in called.out
    assert "requests are served with confidence 95 % unless less" in called.out
    artifact = Artifact.load(file)
    assert not artifact.serve(error_prob=0.6).certified
    assert artifact.serve(error_prob=0.6, confidence=0.5).certified
    called = icpe(f"certify {file} --verify")
    assert called.status == 2
    assert "no certificate with confidence 0.95; ask for confidence 0.5" in called.err
    assert icpe(f"certify {file} --verify --confidence 0.5").status == 0


@pytest.mark.slow
def test_a_refusal_is_status_one_says_what_is_closest_and_is_kept(icpe, file):
    called = icpe(f"certify {file} --error-prob 0.4 --episodes 512")
    assert called.status == 1
    assert "Not certified" in called.out
    assert "closest point is price 0.05" in called.out
    assert "No number of episodes would show it" in called.out
    called = icpe(f"certify {file} --error-prob 0.4 --episodes 512 --seed 3")
    assert called.status == 1
    assert "attempt number 2" in called.out
    assert "each price is tested at level 0.01" in called.out
    assert "seed 3 was chosen by hand" in called.out
    records = Artifact.load(file).certificates
    assert [it["certified"] for it in records] == [False, False]


def test_a_full_disk_is_not_taken_for_a_refusal(icpe, file, monkeypatch):
    before = file.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    called = icpe(f"certify {file} --error-prob 0.6 --episodes 512")
    assert called.status == 3
    assert f"{file} could not be written: No space left on device" in called.err
    assert file.read_bytes() == before
    assert list(file.parent.glob("*.tmp")) == []


def test_verify_accepts_what_it_should_and_notices_changes(icpe, file):
    called = icpe(f"certify {file} --error-prob 0.6 --episodes 512")
    assert "No guard: nothing notices answers that do not look like" in called.out
    before = file.read_bytes()
    called = icpe(f"certify {file} --verify")
    assert called.status == 0, called.out
    assert "Verified" in called.out
    assert file.read_bytes() == before
    tamper(file, price=0.1)
    called = icpe(f"certify {file} --error-prob 0.6 --verify")
    assert called.status == 1
    assert "Not verified" in called.out
    assert "was changed after it was made" in called.out
    called = icpe(f"certify {file} --error-prob 0.6 --verify --seed 1 --json")
    assert called.status == 1
    assert (called.json["certified"], called.json["verified"]) == (False, False)
    assert called.json["problems"]


@pytest.mark.slow
def test_a_budget_is_answered_by_a_lower_bound(icpe, file):
    called = icpe(f"certify {file} --budget 1 --episodes 512")
    assert called.status == 0, called.err
    assert "In 512 separate episodes with 1 queries the accuracy was 0." in called.out
    assert "by these alone at least 0.4" in called.out
    shown = icpe(f"certify {file} --budget 1 --verify --json")
    assert shown.status == 0
    assert shown.json["certified"] is None
    assert shown.json["verified"] is True


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("", "exactly one of --error-prob and --budget; got none of them: name one"),
        ("--error-prob 0.1 --budget 1", "got --error-prob and --budget: name one"),
        (
            "--error-prob 0.1 --budget 1 --verify",
            "got --error-prob and --budget: name one",
        ),
        ("--error-prob 2", "strictly between 0 and 1"),
        ("--error-prob 0.01 --episodes 9", "episodes must be at least 5"),
        ("--error-prob 0.1 --verify", "has no certificate for error_prob 0.1"),
        ("--verify", "The file has no certificate; make one"),
        ("--error-prob 0.1 --groups [[0]]", "--groups goes with --promise every-"),
        ("--error-prob 0.1 --seed -1", "--seed must be between"),
    ],
)
def test_a_bad_request_is_one_sentence_and_status_two(icpe, file, words, sentence):
    called = icpe(f"certify {file} {words}")
    assert called.status == 2
    assert sentence in called.err
    assert called.err.count("\n") == 1


def test_a_missing_file_is_one_sentence(icpe, tmp_path):
    called = icpe(f"certify {tmp_path / 'none.safetensors'} --error-prob 0.1")
    assert called.status == 2
    assert "cannot be read" in called.err


@pytest.mark.slow
def test_a_trained_explorer_is_certified_and_an_undertrained_one_is_refused(
    icpe, tmp_path
):
    """Binary search among 8 on the CPU, at an error probability of 0.01."""
    good, bad = tmp_path / "good.safetensors", tmp_path / "bad.safetensors"
    train = "train binary-search --family.size 8 --preset cpu --out"
    with jax.numpy_dtype_promotion("standard"):  # optax mixes dtypes
        assert icpe(f"{train} {good}").status == 0
        undertrained = "--train.num-iterations 20 --train.warmup-iterations 2"
        assert icpe(f"{train} {bad} {undertrained}").status == 0
    called = icpe(f"certify {good} --error-prob 0.01 --json")
    assert called.status == 0, called.err
    assert called.json["certified"] is True
    assert called.json["lower_bound"] >= 0.99
    assert icpe(f"certify {good} --error-prob 0.01 --verify").status == 0
    called = icpe(f"certify {bad} --error-prob 0.01")
    assert called.status == 1
    assert "Not certified" in called.out


@pytest.mark.parametrize(
    ("needed", "advice"),
    [(None, "may get better"), (400, "about 400 held-out rows"), (9999, "a larger")],
)
def test_what_to_do_where_held_out_rows_show_too_little(needed, advice):
    certificate = types.SimpleNamespace(
        episodes_needed=needed,
        test="held-out",
        lower_bound=0.85,
        counted="rows",
        episodes=100,
    )
    assert advice in what_would_do(certificate)
