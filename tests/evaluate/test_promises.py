"""What is promised beside the average: a belief, and every hypothesis."""

import dataclasses
import json

import numpy as np
import pytest

from icpe import workflow
from icpe.artifact import Artifact
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import Promise, Request
from icpe.deploy import Session
from icpe.evaluate.benchmark import evaluate
from icpe.evaluate.certify import certify
from icpe.evaluate.climb import Block, Rung, climb
from icpe.evaluate.promises import Counting
from icpe.evaluate.recalibrate import recalibrate
from icpe.evaluate.report import Report
from icpe.evaluate.verify import verify
from icpe.explorers import make_explorer
from icpe.families import NoisyBinarySearch
from icpe.workflow import make_rule
from support.toy_artifacts import guesser

EPISODES = 1024
SEARCH = NoisyBinarySearch(size=5, noise=0.25, horizon=7)


class Overconfident(NoisyBinarySearch):
    """Its belief takes the answers for more reliable than they are."""

    def exact_belief(self):
        return NoisyBinarySearch(size=5, noise=0.1, horizon=7).exact_belief()


def with_beliefs(family) -> Artifact:
    rule = make_rule(family, "information-gain", calibration_episodes=256)
    table = recalibrate(rule, episodes=EPISODES)
    return dataclasses.replace(rule, belief_table=table)


@pytest.fixture(scope="module")
def rule():
    return with_beliefs(SEARCH)


@pytest.fixture(scope="module")
def by_belief(rule):
    certificate = certify(rule, error_prob=0.15, promise="belief", episodes=8192)
    return rule.with_certificate(certificate)


def test_a_request_says_what_is_promised():
    assert Request(error_prob=0.1).promise is Promise.AVERAGE
    assert "10 % of the answers" in (Request(error_prob=0.1).promised or "")
    asked = Request(error_prob=0.05, promise="belief")
    assert asked.promise is Promise.BELIEF
    assert "0.95" in (asked.promised or "")
    assert str(asked) == "error_prob=0.05, promise=belief"
    assert Request(budget=3).promised is None
    with pytest.raises(OperatingPointError, match="average, belief, every-hypothesis"):
        Request(error_prob=0.1, promise="always")
    with pytest.raises(OperatingPointError, match="error_prob, which is missing"):
        Request(budget=3, promise="belief")


@pytest.mark.slow
def test_an_exact_belief_is_right_as_often_as_it_says(rule):
    for row in rule.belief_table.rows:
        assert row.episodes == EPISODES
        if row.decided >= 50:
            # 48 rows; five standard errors.
            spread = 0.5 / row.decided**0.5
            assert row.successes / row.decided >= 1.0 - row.doubt - 5 * spread
    shares = [row.undecided for row in rule.belief_table.rows]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5 and shares[-1] == 0.0


def test_a_belief_that_trusts_too_much_is_recalibrated(monkeypatch):
    monkeypatch.setattr(workflow, "check_family", lambda *_, **__: None)  # refuses it
    artifact = with_beliefs(Overconfident(size=5, noise=0.25, horizon=7))
    raw = min(artifact.beliefs.rows, key=lambda row: abs(row.doubt - 0.1))
    assert raw.successes / raw.decided < 0.85
    served = artifact.serve(error_prob=0.12, promise="belief")
    assert served.doubt is not None and served.doubt < 0.1
    (report,) = evaluate(
        {"it": artifact}, artifact.family, error_prob=0.12, promise="belief",
        episodes=2000, seed=9,
    )  # fmt: skip
    # Of more than 500 decided sessions; the row was chosen by a 95 % bound.
    assert report.decided_accuracy is not None
    assert report.decided_accuracy >= 0.88 - 5 * 0.33 / 500**0.5


def test_certified_by_belief_is_the_error_among_those_that_stopped_so(by_belief):
    (record,) = by_belief.certificates
    assert (record["certified"], record["promise"]) == (True, "belief")
    player = by_belief.serve(error_prob=0.15, promise="belief")
    assert player.certified and player.doubt == record["price"]
    assert not by_belief.serve(error_prob=0.3).certified
    capped = by_belief.serve(error_prob=0.15, promise="belief", max_queries=4)
    assert not capped.certified
    (report,) = evaluate(
        {"it": by_belief}, SEARCH, error_prob=0.15, promise="belief", episodes=2000
    )
    assert report.certified and report.undecided is not None
    assert 0.0 < report.undecided < 1.0
    assert report.decided_accuracy is not None
    assert report.decided_accuracy > report.accuracy
    assert report.decided_accuracy >= 0.85 - 5 * 0.36 / 1000**0.5
    assert Report.from_dict(report.to_dict()) == report
    old = {k: v for k, v in report.to_dict().items() if "decided" not in k}
    old.pop("promise")
    assert Report.from_dict(old).undecided is None


def test_a_belief_certificate_is_verified_and_forgeries_are_not(by_belief, tmp_path):
    path = tmp_path / "rule.safetensors"
    by_belief.save(path)
    artifact = Artifact.load(path)
    found = verify(artifact, 0.15, promise="belief")
    assert found.verified, found.problems
    record = json.loads(json.dumps(artifact.certificates[0]))
    # Undecided sessions counted as if they were right ones that it was sure of.
    (pair,) = record["bound_counts"]
    forged = dataclasses.replace(
        artifact, certificates=({**record, "bound_counts": [[pair[0] + 300, pair[1]]]},)
    )
    assert not verify(forged, 0.15, promise="belief").verified
    other = dataclasses.replace(artifact.beliefs, seed=3)
    moved = dataclasses.replace(artifact, belief_table=other)
    assert not moved.serve(error_prob=0.15, promise="belief").certified


def test_a_session_that_never_gets_so_sure_is_undecided(by_belief):
    session = Session(by_belief, error_prob=0.15, promise="belief")
    answers = iter([1.0, -1.0] * 9)
    while (query := session.ask()) is not None:
        session.tell(query, next(answers))
    doubt = by_belief.serve(error_prob=0.15, promise="belief").doubt
    assert session.posterior is not None
    assert session.undecided == (session.posterior.max() < 1 - doubt)
    assert session.undecided and not session.certified
    assert session.certificate_lost is not None
    session = Session(by_belief, error_prob=0.15, promise="belief")
    while (query := session.ask()) is not None:
        session.tell(query, float(np.sign(2 - query)))
    assert not session.undecided
    assert (session.recommendation, session.certified) == (2, True)
    assert "recalibrated belief reaches 0.85" in (session.promised or "")


def test_rules_keep_the_promise_of_a_belief_by_themselves_and_others_do_not():
    rule = make_explorer("information-gain", SEARCH)
    (report,) = evaluate(
        {"rule": rule}, SEARCH, error_prob=0.2, promise="belief", episodes=500
    )
    assert report.decided_accuracy is not None
    assert report.decided_accuracy >= 0.8 - 5 * 0.4 / 200**0.5
    with pytest.raises(OperatingPointError, match="certified files"):
        Session(rule, SEARCH, error_prob=0.2, promise="every-hypothesis")
    with pytest.raises(OperatingPointError, match="icpe calibrate FILE --promise"):
        guesser().serve(error_prob=0.6, promise="belief")


def test_a_hypothesis_that_is_never_named_is_not_paid_for_by_another():
    artifact = guesser()  # always names 0
    average = certify(artifact, error_prob=0.6, episodes=512)
    assert average.certified
    each = certify(
        artifact.with_certificate(average),
        error_prob=0.6,
        promise="every-hypothesis",
        episodes=512,
    )
    assert each.certified is False
    assert each.shown == ("0",)
    assert each.attempt == 2  # another ladder
    assert each.lower_bound == 0.0
    assert average.by_answer is not None
    (zero,) = average.by_answer
    assert (zero.name, zero.successes) == ("0", average.bound_successes)
    with pytest.raises(OperatingPointError, match="--promise every-hypothesis"):
        artifact.serve(error_prob=0.6, promise="every-hypothesis")


@pytest.mark.slow
def test_every_hypothesis_at_once(rule):
    certificate = certify(
        rule, error_prob=0.45, promise="every-hypothesis", episodes=4096
    )
    assert certificate.certified and certificate.bound_counts
    assert len(certificate.bound_counts) == 5
    assert sum(n for _, n in certificate.bound_counts) == certificate.episodes
    artifact = rule.with_certificate(certificate)
    assert artifact.serve(error_prob=0.45, promise="every-hypothesis").certified
    assert artifact.serve(error_prob=0.5).certified  # what holds for each, on average
    assert verify(artifact, 0.45, promise="every-hypothesis").verified
    groups = [[0, 1], [2], [3, 4]]
    counting = Counting.of("every-hypothesis", SEARCH.spec, groups)
    assert counting.names == ("0 or 1", "2", "3 or 4")
    with pytest.raises(InvalidParameterError, match="exactly once"):
        certify(rule, error_prob=0.4, promise="every-hypothesis", groups=[[0], [1]])
    with pytest.raises(InvalidParameterError, match="every-hypothesis"):
        certify(rule, error_prob=0.4, groups=groups)


def test_all_of_several_bets_are_won_falsely_no_more_often_than_one():
    """One of three groups is exactly at the boundary, the others never err."""
    random = np.random.default_rng(0)
    runs, level, passed = 600, 0.05, 0

    def play(price, first, last):
        while first < last:
            right = int(random.binomial(32, 0.9))
            counts = ((right, 32), (32, 32), (32, 32))
            yield Block(right + 64, 96, counts)
            first += 96

    for _ in range(runs):
        rung = Rung(0.1, 0, 0)
        found = climb([rung], play, error_prob=0.1, level=level, limit=96 * 30)
        passed += found.certified
    # P(X >= 55) for X ~ Binomial(600, 0.05) is below 1e-5.
    assert passed < 55
