"""A rule with an exact belief, in a file like that of a trained explorer."""

import dataclasses
import json
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule, rules_for
from icpe.cli.train import Args, or_rule
from icpe.core.errors import (
    ArtifactError,
    InvalidParameterError,
    OperatingPointError,
    UnknownNameError,
    UnsupportedError,
)
from icpe.core.request import OperatingPoint
from icpe.deploy import Session
from icpe.evaluate.against_rule import best_rule, gain_over_rule
from icpe.evaluate.calibrate import NUM_DOUBTS, calibration_key
from icpe.evaluate.certify import certify
from icpe.evaluate.guard import GuardStage
from icpe.evaluate.verify import verify
from icpe.families import BernoulliBandit, MagicRoom, NoisyBinarySearch
from icpe.play.rollout import run_episodes
from icpe.workflow import make_rule

EPISODES = 1024
SEARCH = NoisyBinarySearch(size=5, noise=0.1, horizon=12)


@pytest.fixture(scope="module")
def rule():
    return make_rule(SEARCH, "information-gain", calibration_episodes=EPISODES)


@pytest.fixture(scope="module")
def certified(rule):
    certificate = certify(rule, error_prob=0.15, episodes=4096)
    assert certificate.certified
    return rule.with_certificate(certificate)


@pytest.mark.slow
def test_rows_are_what_the_rule_does_there(rule):
    rows = rule.table.priced()
    assert len(rows) == NUM_DOUBTS
    for row in (rows[0], rows[30], rows[-6], rows[-1]):
        ending = run_episodes(
            rule.explorer, SEARCH, rule.point_at(row.price), EPISODES,
            key=calibration_key(0),
        )  # fmt: skip
        # The belief is summed up in another order here, so ties may fall otherwise.
        assert row.accuracy == pytest.approx(ending.correct.mean(), abs=2 / EPISODES)
        assert row.mean_queries == pytest.approx(
            ending.num_queries.mean(), abs=4 / EPISODES
        )
    assert rows[-1].mean_queries == 0.0
    budget = rule.table.budgets()[-1]
    point = OperatingPoint.at(12, budget=12)
    ending = run_episodes(
        rule.explorer, SEARCH, point, EPISODES, key=calibration_key(0)
    )
    assert budget.mean_queries == 12.0
    assert budget.accuracy == pytest.approx(ending.correct.mean(), abs=2 / EPISODES)


def test_an_exact_posterior_errs_no_more_than_its_doubt(rule):
    for row in rule.table.priced():
        # 64 rows; each falls 5 standard errors short with probability below 3e-7.
        assert row.accuracy >= 1.0 - row.price - 5 * 0.5 / EPISODES**0.5


@pytest.mark.slow
def test_a_file_is_certified_served_and_guarded_like_a_trained_one(certified, tmp_path):
    path = tmp_path / "rule.safetensors"
    certified.save(path)
    artifact = Artifact.load(path)
    assert json.dumps(artifact.document()) == json.dumps(certified.document())
    assert artifact.guard is not None
    assert verify(artifact, 0.15).verified
    player = artifact.serve(error_prob=0.2)
    assert player.certified
    session = Session(artifact, error_prob=0.15)
    while (query := session.ask()) is not None:
        session.tell(query, -1.0 if query > 2 else 1.0 if query < 2 else 0.0)
    assert session.certified
    assert session.recommendation == 2
    session = Session(artifact, error_prob=0.15)
    asked = session.ask()
    assert asked is not None
    session.tell((asked + 1) % 5, -1.0)
    assert "had been asked for" in (session.certificate_lost or "")


def test_a_price_is_weighed_by_the_table(rule):
    for price in (0.3, 0.03, 0.003):
        point = rule.serve(price=price).operating_point
        values = [r.accuracy - price * r.mean_cost for r in rule.table.priced()]
        best = rule.table.priced()[values.index(max(values))]
        assert float(point.price) == pytest.approx(best.price)
    cheap, dear = (rule.serve(price=p).operating_point.price for p in (0.001, 0.3))
    assert cheap < dear
    with pytest.raises(OperatingPointError, match="icpe calibrate"):
        dataclasses.replace(rule, table=None).serve(price=0.1)


class Shaken(NoisyBinarySearch):
    """The same law, with a belief in another noise."""

    def exact_belief(self):
        return NoisyBinarySearch(size=5, noise=0.3, horizon=12).exact_belief()


def test_another_belief_is_refused(rule, tmp_path):
    path = tmp_path / "rule.safetensors"
    rule.save(path)
    with pytest.raises(ArtifactError, match="another belief"):
        Artifact.load(path, Shaken(size=5, noise=0.1, horizon=12))


def test_another_rule_is_not_the_certified_one(certified):
    other = dataclasses.replace(certified, nets=SavedRule.of(SEARCH, "uniform"))
    assert other.weights_hash != certified.weights_hash
    assert other.subject_hash != certified.subject_hash
    assert not other.serve(error_prob=0.2).certified
    problems = verify(other, 0.15).problems
    assert any("not those that were certified" in problem for problem in problems)


def test_what_cannot_be_a_rule_is_said_in_one_sentence(rule):
    with pytest.raises(InvalidParameterError, match="choose one of top-two, uniform"):
        make_rule(BernoulliBandit(num_arms=2, horizon=4), "lucb")
    with pytest.raises(UnknownNameError, match="information-gain"):
        make_rule(SEARCH, "information-gian")
    with pytest.raises(UnsupportedError, match="exact belief"):
        make_rule(MagicRoom())
    with pytest.raises(UnsupportedError, match="has no networks"):
        _ = rule.universal_nets


def test_the_best_rule_is_none_that_asks_at_random():
    assert "uniform" in rules_for(SEARCH)
    assert best_rule(SEARCH) not in (None, "uniform")
    assert best_rule(MagicRoom()) is None


def test_a_rule_gains_nothing_over_itself_and_much_over_random_queries(rule):
    itself = gain_over_rule(rule, rule="information-gain", episodes=EPISODES)
    assert itself is not None
    assert (itself.saving, itself.accuracy) == (0.0, 0.9)
    assert itself.saving_interval == pytest.approx((0.0, 0.0), abs=1e-9)
    other = gain_over_rule(rule, rule="uniform", episodes=EPISODES)
    assert other is not None and other.saving_interval is not None
    assert other.saving_interval[0] > 0.1
    assert 0 < other.decision_ms < 1e4
    assert "training saves" in other.sentence
    assert not itself.is_clear_loss and not other.is_clear_loss
    assert jnp.isfinite(other.rule_decision_ms)


@pytest.mark.parametrize(
    ("mean_cost", "interval", "is_loss"),
    [
        (6.0, (-0.25, -0.15), True),
        (5.1, (-0.04, -0.01), False),
        (4.9, (0.01, 0.03), False),
        (None, None, True),
    ],
)
def test_training_has_clearly_lost(rule, mean_cost, interval, is_loss):
    gain = gain_over_rule(rule, rule="information-gain", episodes=64)
    assert gain is not None
    gain = dataclasses.replace(gain, mean_cost=mean_cost, saving_interval=interval)
    assert gain.is_clear_loss == is_loss


def test_what_has_lost_gives_way_to_the_rule(rule, capsys):
    gain = gain_over_rule(rule, rule="information-gain", episodes=64)
    assert gain is not None
    lost = dataclasses.replace(gain, saving=-0.2, saving_interval=(-0.25, -0.15))
    trained = dataclasses.replace(rule, against_rule=lost.to_dict(), provenance={})
    args = Args(out=Path("f"), calibration_episodes=64)
    kept = dataclasses.replace(rule, against_rule=gain.to_dict())
    assert or_rule(kept, args) is kept
    assert or_rule(trained, args).training["score"] == "information-gain"
    assert "The file gets that rule" in capsys.readouterr().err


def test_the_guard_cuts_one_set_of_episodes_at_every_doubt(rule):
    assert rule.guard.record["one_set"]
    stage = GuardStage(rule, seed=1)
    key = jr.key(4)
    horizon = SEARCH.horizon
    point = OperatingPoint.at(horizon, budget=horizon)
    (whole,) = stage.play(point, 64, key)
    (alone,) = stage.play(rule.point_at(0.2), 64, key)
    cut = whole.until(0.2)
    np.testing.assert_array_equal(cut.length, alone.length)
    assert cut.length.min() < whole.length.max()
    made = np.arange(whole.queries.shape[1]) < cut.length[:, None]
    np.testing.assert_array_equal(cut.queries[made], alone.queries[made])
