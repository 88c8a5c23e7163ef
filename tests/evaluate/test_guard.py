"""The guard keeps quiet on the family, and speaks up on anything else."""

import dataclasses
import functools as ft

import jax.random as jr
import numpy as np
import pytest
from scipy.stats import binom

from icpe.artifact import Artifact
from icpe.artifact.guard import Guard, Limits, Scores, scores
from icpe.artifact.outcome_law import NumberLaw
from icpe.core.episode import StopReason
from icpe.deploy import Session
from icpe.evaluate.guard import (
    FEWEST_EPISODES,
    MOST_FALSE_ALARMS,
    GuardStage,
    _aimed_at,
    _bound,
    count_alarms,
    guard_problems,
    measure_guard,
)
from icpe.families import BinarySearch, GaussianBandit
from icpe.learn.config import TrainConfig
from icpe.learn.layout import device_mesh
from icpe.learn.learner import UniversalLearner
from icpe.learn.survey import survey
from icpe.theory.intervals import clopper_pearson_lower

EPISODES = 1024


@ft.cache
def guarded(family) -> Artifact:
    """An explorer that has only its tables, with a guard."""
    config = TrainConfig(width=8, num_layers=1, num_heads=2)
    learner = UniversalLearner(family, config, survey(family), device_mesh(config))
    nets = learner.new_networks(key=jr.key(0))
    artifact = Artifact(nets=nets, family=family, training={}, provenance={})
    guard = measure_guard(artifact, episodes=EPISODES)
    return dataclasses.replace(artifact, guard=guard)


BANDIT = GaussianBandit(num_arms=3, horizon=12)
SEARCH = BinarySearch(size=6)
VARYING = GaussianBandit(num_arms=8, horizon=6, vary_arms=True, fewest_arms=2)


@pytest.mark.slow
@pytest.mark.parametrize("family", [BANDIT, SEARCH], ids=["numbers", "symbols"])
def test_few_sessions_of_the_family_itself_raise_an_alarm(family):
    artifact = guarded(family)
    assert artifact.guard is not None
    assert artifact.guard.record["upper_bound"] <= 0.01
    alarms = count_alarms(artifact, artifact.guard, EPISODES, seed=1)
    # Each bound exceeds 1.2 % with probability below 1e-4 where the share is 1 %.
    bounds = [clopper_pearson_lower(count, EPISODES, 0.9999) for count in alarms]
    assert max(bounds) <= 0.012


def session_with(change, budget=6, **options):
    """A session of the bandit, whose rewards are changed before they are told."""
    random = np.random.default_rng(5)
    session = Session(guarded(BANDIT), budget=budget, **options)
    while (query := session.ask()) is not None:
        mean = (0.9, 0.5, 0.1)[query]
        session.tell(query, change(mean + 0.5 * random.standard_normal()))
        if session.alarm:
            break
    return session


def test_other_units_are_noticed_at_once_and_said_in_words():
    session = session_with(lambda reward: 50.0 + reward)
    assert len(session.history) == 1 and session.alarm is not None
    assert "this family expects" in session.alarm and "units" in session.alarm
    session = session_with(lambda reward: 1e6 * reward)
    assert len(session.history) == 1


def test_sessions_of_the_family_are_left_in_peace():
    session = session_with(lambda reward: reward)
    assert session.alarm is None and session.stop_reason is StopReason.BUDGET


def test_an_alarm_may_stop_the_session():
    session = session_with(lambda reward: 50.0, on_alarm="stop")
    assert session.stop_reason is StopReason.ALARM and session.ask() is None
    assert "did not look like" in session.stop_reason.sentence


def test_rewards_ten_times_as_large_are_noticed_by_the_third_query():
    artifact = guarded(BANDIT)
    assert artifact.guard is not None
    stage = GuardStage(artifact, seed=2)
    *_, chunks = stage.points("power", 512)
    (played,) = chunks
    found = scores(
        artifact.guard.law,
        played.beliefs[:, :3],
        played.queries[:, :3],
        10.0 * played.outcomes[:, :3],
        np.minimum(played.length, 3),
    )
    # Beliefs are those of the true rewards, which is all that this leaves out.
    assert found.exceeds(artifact.guard.limits).mean() > 0.95


def test_one_session_and_many_at_once_see_the_same():
    artifact = guarded(BANDIT)
    assert artifact.guard is not None
    stage = GuardStage(artifact, seed=3)
    *_, chunks = stage.points("same", 8)
    (played,) = chunks
    outcomes = played.outcomes * np.linspace(1.0, 4.0, 8)[:, None, None]
    found = scores(
        artifact.guard.law, played.beliefs, played.queries, outcomes, played.length
    ).exceeds(artifact.guard.limits)
    for episode in range(8):
        watch = artifact.guard.start(BANDIT.spec, np.zeros(1))
        for step in range(played.length[episode]):
            watch = watch.after(
                played.beliefs[episode, step],
                int(played.queries[episode, step]),
                outcomes[episode, step],
            )
        assert (watch.alarm is not None) == found[episode]
    assert found.any() and not found.all()


def test_what_is_strange_depends_on_what_was_revealed_first():
    """Means lie between 0 and 0.4 times the number of arms."""
    guard = guarded(VARYING).guard
    assert guard is not None

    def alarm(arms: int, reward: float) -> str | None:
        belief = np.where(np.arange(8) < arms, 1.0 / arms, 0.0)
        watch = guard.start(VARYING.spec, np.array([0.0, arms]))
        for query in range(2):
            watch = watch.after(belief, query, np.array([reward, 0.0]))
        return watch.alarm

    assert isinstance(guard.law, NumberLaw)
    np.testing.assert_allclose(guard.law.within[:, :, 0], 0.25, atol=0.12)
    assert alarm(8, 3.0) is None and alarm(2, 0.5) is None
    assert alarm(2, 3.5) is not None and alarm(8, 30.0) is not None


@pytest.mark.parametrize("family", [BANDIT, SEARCH], ids=["numbers", "symbols"])
@pytest.mark.slow
def test_a_guard_survives_its_file(family, tmp_path):
    artifact = guarded(family)
    assert artifact.guard is not None
    artifact.save(tmp_path / "explorer.safetensors")
    again = Artifact.load(tmp_path / "explorer.safetensors").guard
    assert again is not None and again.to_dict() == artifact.guard.to_dict()
    for name, array in artifact.guard.law.arrays().items():
        np.testing.assert_array_equal(again.law.arrays()[name], array)


def test_the_record_of_a_guard_is_checked_by_playing_again():
    artifact = guarded(SEARCH)
    guard = artifact.guard
    assert guard is not None
    assert list(guard_problems(artifact, guard)) == []
    assert list(guard_problems(artifact, guard, seed=9)) == []

    def forged(**changes):
        return dataclasses.replace(guard, record={**guard.record, **changes})

    (problem,) = guard_problems(artifact, forged(upper_bound=1e-4))
    assert "give the upper bound" in problem
    hidden = forged(alarms=[a + 40 for a in guard.record["alarms"]])
    assert any("played again" in it for it in guard_problems(artifact, hidden))
    # Limits that every session exceeds.
    loud = dataclasses.replace(guard, limits=Limits(-10.0, -100.0))
    assert any("they raise" in it for it in guard_problems(artifact, loud))
    assert any("contradict" in it for it in guard_problems(artifact, loud, seed=9))
    (problem,) = guard_problems(artifact, dataclasses.replace(guard, record={}))
    assert "lacks" in problem


def test_the_first_answers_have_limits_of_their_own():
    artifact = guarded(BANDIT)
    assert artifact.guard is not None
    limits = artifact.guard.limits
    assert limits.first == 3 and limits.at(3) != limits.at(4)
    again = Guard.of(artifact.guard.to_dict(), artifact.guard.law.arrays(), BANDIT.spec)
    assert again is not None and again.limits == limits
    score = np.full((1, 6), -np.inf)
    early, late = score.copy(), score.copy()
    early[0, 3] = late[0, 4] = 2.0
    strict = Limits(3.0, 3.0, first=4, first_one=1.0, first_together=1.0)
    for found, alarm in ((early, 4.0), (late, np.inf)):
        assert Scores(found, score, score).first_alarm(strict) == alarm
        assert Scores(score, found, score).first_alarm(strict) == alarm


def test_guards_from_before_have_one_limit_for_all_answers():
    artifact = guarded(BANDIT)
    assert artifact.guard is not None
    values = {"limits": {"one": 5.0, "together": 4.0}, "record": {}}
    found = Guard.of(values, artifact.guard.law.arrays(), BANDIT.spec)
    assert found is not None and found.to_dict() == values
    assert found.limits.at(1) == found.limits.at(9) == (5.0, 4.0)


def test_limits_aim_at_what_so_many_episodes_can_show():
    for episodes in (FEWEST_EPISODES, 2048, 16_384):
        aimed_at = _aimed_at(episodes)
        alarms = int(binom.ppf(0.95, episodes, aimed_at))
        assert _bound(alarms, episodes, 0) <= MOST_FALSE_ALARMS
        assert _bound(alarms + 1, episodes, 0) > MOST_FALSE_ALARMS


def test_the_fewest_episodes_can_show_that_alarms_are_rare_enough():
    assert _bound(0, FEWEST_EPISODES, 0) <= MOST_FALSE_ALARMS
    assert _bound(0, FEWEST_EPISODES - 1, 0) > MOST_FALSE_ALARMS


def test_no_more_episodes_are_played_than_can_show_it(monkeypatch):
    """Of 528, none may raise an alarm, and a second attempt would need more."""
    artifact, limits, played = guarded(BANDIT), Limits(0.1, 0.1), []

    def noisy(stage, name, episodes, law):
        played.append(name)
        return [Scores(np.full((episodes, 1), 9.0), *np.zeros((2, episodes, 1)))]

    monkeypatch.setattr(GuardStage, "scores", noisy)
    monkeypatch.setattr("icpe.evaluate.guard._limits", lambda *_: limits)
    assert measure_guard(artifact, episodes=FEWEST_EPISODES) is None
    assert played == ["limits", "check 0"]
