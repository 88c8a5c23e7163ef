"""The training-time rule: false alarms, power, and how it ends a training."""

import numpy as np
import pytest
from scipy import stats

from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.evaluate.training_rule import SequentialTest, TrainingRule
from icpe.testing.toy_artifacts import guesser

BATCH = 64


def epochs_until_alarm(accuracies, runs, boundary):
    """The epoch of the alarm in each of some trainings; infinite if there is none."""
    test = SequentialTest(0.1, level=0.1, batch_size=BATCH, boundary=boundary)
    rng = np.random.default_rng(0)
    epochs = np.arange(1, len(accuracies) + 1)
    successes = rng.binomial(BATCH, accuracies, (runs, len(accuracies))).cumsum(axis=1)
    rejected = test.rejects(successes, epochs)
    return np.where(rejected.any(axis=1), 1 + rejected.argmax(axis=1), np.inf)


@pytest.mark.parametrize("boundary", ["mixture", "betting"])
@pytest.mark.parametrize(
    "accuracies",
    [np.full(80, 0.9), np.linspace(0.2, 0.9, 80), 0.9 - 0.1 * (np.arange(80) % 2)],
    ids=["at the edge", "rising", "up and down"],
)
def test_a_training_that_never_gets_there_is_stopped_at_most_at_the_level(
    boundary, accuracies
):
    """At most 0.1 of 4,000 trainings; at exactly 0.1 a false alarm has chance 1e-6."""
    alarms = np.isfinite(epochs_until_alarm(accuracies, 4000, boundary)).sum()
    assert alarms <= stats.binom.isf(1e-6, 4000, 0.1)


def test_a_training_that_gets_there_is_stopped_and_betting_is_quicker():
    accuracies = np.full(400, 0.97)
    mixture = epochs_until_alarm(accuracies, 50, "mixture")
    betting = epochs_until_alarm(accuracies, 50, "betting")
    assert np.isfinite(mixture).all()
    assert betting.mean() < mixture.mean() / 3


@pytest.fixture(scope="module")
def artifact():
    return guesser()


@pytest.mark.slow
def test_the_rule_ends_when_the_networks_are_accurate_enough(artifact):
    """They are right half of the time, far above the accuracy of 0.3 asked for."""
    rule = TrainingRule(
        artifact.family,
        price=0.05,
        error_prob=0.7,
        batch_size=64,
        boundary="betting",
        first_iteration=20,
    )
    assert not rule(10, artifact.nets)
    ended = next(i for i in range(20, 300, 10) if rule(i, artifact.nets))
    record = rule.record()
    assert record["ended_at"] == ended
    assert record["epochs"] == (ended - 20) // 10 + 1
    assert (record["price"], record["error_prob"]) == (0.05, 0.7)


@pytest.mark.slow
def test_the_rule_plays_other_episodes_at_every_epoch(artifact):
    rule = TrainingRule(artifact.family, price=0.05, error_prob=0.4, batch_size=64)
    totals = [0]
    for iteration in range(4):
        assert not rule(iteration, artifact.nets)
        totals.append(rule.record()["successes"])
    assert len(set(np.diff(totals))) > 1
    assert rule.record()["ended_at"] is None


def test_a_price_that_was_not_trained_for_is_refused(artifact):
    rule = TrainingRule(artifact.family, price=0.5, error_prob=0.4)
    with pytest.raises(OperatingPointError, match="trained range"):
        rule(1, artifact.nets)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"error_prob": 0.8}, "at most 0.75 for the mixture"),
        ({"error_prob": 0.0}, "error_prob must lie strictly"),
        ({"level": 1.0}, "level must lie strictly"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
    ],
)
def test_impossible_rules_are_refused(artifact, changes, sentence):
    options = {"price": 0.05, "error_prob": 0.1} | changes
    with pytest.raises(InvalidParameterError, match=sentence):
        TrainingRule(artifact.family, **options)
