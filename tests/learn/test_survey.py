"""What a family is like is found out by simulation, the same way every time."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.families import DeterministicBandit, GaussianBandit
from icpe.learn import survey as module
from icpe.learn.survey import survey
from icpe.nets.predictions import Predictions
from icpe.studies.gauntlet import HiddenNumber
from support.toy_tasks import Hint, Lockers, TwoBits, TwoDoors


@pytest.fixture
def nothing_recent(monkeypatch):
    """No survey is remembered; those made are forgotten again."""
    monkeypatch.setattr(module, "_RECENT", {})


@pytest.mark.parametrize(
    ("family", "is_noisy", "num_symbols"),
    [
        (TwoDoors(), False, 3),
        (TwoDoors(0.8, 6), True, 3),
        (Lockers(), False, 2),
        (TwoBits(), False, 8),
        (GaussianBandit(num_arms=3, horizon=12), True, None),
        (DeterministicBandit(num_arms=4), False, None),
    ],
    ids=["doors", "noisy doors", "lockers", "bits", "gaussian", "deterministic"],
)
def test_noise_and_symbols_are_found(family, is_noisy, num_symbols):
    found = survey(family)
    assert (found.is_noisy, found.num_symbols) == (is_noisy, num_symbols)


@pytest.mark.parametrize("family", [TwoDoors(0.8, 6), TwoBits()], ids=["doors", "bits"])
def test_where_the_hypothesis_fixes_the_law_there_is_one_class_and_full_trust(family):
    found = survey(family)
    assert found.share_between_tasks < 0.01
    assert found.predictions is not None and found.predictions.num_each == 1
    assert found.trust == 1.0


def test_where_it_does_not_tasks_are_put_into_classes_and_trusted_less():
    """Two tasks with the same best arm share nothing else; more classes do better."""
    found = survey(DeterministicBandit(num_arms=4))
    assert found.share_between_tasks == pytest.approx(1.0)
    assert found.predictions is not None and found.predictions.num_each > 1
    assert 0.0 < found.trust < 1.0


def test_tables_have_the_law_of_the_family():
    """A peek at two doors is right with probability 0.8, and a knock says nothing."""
    found = survey(TwoDoors(0.8, 6)).predictions
    assert found is not None
    cells = np.asarray(found.outcomes.cells)  # outcomes are -1, 0, 1
    right, wrong = cells[0, 2, 1], cells[0, 0, 1]
    # 16,384 tasks a door: five standard errors, exceeded with probability 6e-7.
    assert right == pytest.approx(0.8, abs=5 * np.sqrt(0.16 / 16_000))
    assert wrong == pytest.approx(1 - right, abs=1e-4)
    np.testing.assert_allclose(cells[1, 1], 1.0, atol=1e-4)


def test_outcomes_are_measured():
    """Lockers show 1 for one query of three, else 0."""
    found = survey(Lockers())
    assert found.outcome_shift[0] == pytest.approx(1 / 3, abs=1e-5)
    assert found.outcome_scale[0] == pytest.approx(np.sqrt(2) / 3, abs=1e-5)
    # Half of the outcomes are 0, the others -1 or 1.
    assert survey(TwoDoors()).outcome_scale[0] == pytest.approx(np.sqrt(0.5), abs=1e-3)


@pytest.mark.slow
def test_what_is_revealed_at_reset_has_a_table_of_its_own():
    found = survey(Hint()).predictions
    assert found is not None and found.first is not None
    assert found.shape(1.0).first_cells == 3
    without = survey(TwoDoors()).predictions
    assert without is not None and without.first is None


def test_the_pilot_pays_more_for_higher_thresholds():
    """Exactly so, since all thresholds are tried on the same episodes."""
    pilot = survey(TwoDoors(0.8, 6)).pilot
    assert pilot is not None
    assert np.all(np.diff(pilot.thresholds) > 0)
    assert np.all(np.diff(pilot.mean_cost) >= 0)
    assert pilot.mean_cost == pilot.mean_queries
    assert pilot.mean_cost[0] == 0.0 and pilot.accuracy[0] == pilot.before
    # 512 episodes: five standard errors.
    assert pilot.before == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(512))
    # Three of five or more peeks right, ties broken evenly, after six peeks.
    assert pilot.at_horizon == pytest.approx(0.942, abs=5 * 0.24 / np.sqrt(512))


def test_the_pilot_asks_what_tells_most_for_its_cost():
    pilot = survey(TwoBits()).pilot
    assert pilot is not None
    assert pilot.at_horizon == 1.0
    assert pilot.mean_cost[-1] == pytest.approx(1.5)  # both bits at once
    assert pilot.mean_queries[-1] == 1.0


def test_tables_that_would_be_too_large_are_left_out(monkeypatch, nothing_recent):
    small = dataclasses.replace(module.SIZES["cpu"], table=2 * 2 * 3 - 1)
    monkeypatch.setattr(module, "SIZES", {"cpu": small})
    found = survey(TwoDoors())
    assert (found.predictions, found.trust, found.pilot) == (None, 0.0, None)
    assert found.num_symbols == 3


class Deaf(TwoDoors):
    """Every query is answered by 0."""

    def step(self, state, query, task, *, key):
        found = super().step(state, query, task, key=key)
        return dataclasses.replace(found, outcome=jnp.zeros(1))


def test_tables_that_predict_nothing_are_left_out():
    found = survey(Deaf())
    assert (found.predictions, found.trust) == (None, 0.0)


def test_the_same_seed_gives_the_same_survey(monkeypatch):
    surveys = []
    for seed in (0, 0, 1):
        monkeypatch.setattr(module, "_RECENT", {})
        surveys.append(survey(TwoDoors(0.8, 6), seed=seed))
    one, again, other = surveys
    assert one is not again
    assert jax.tree.structure(one) == jax.tree.structure(again)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.pilot != other.pilot


def test_a_survey_is_made_once_and_the_last_few_are_kept(monkeypatch):
    known = survey(TwoDoors())
    monkeypatch.setattr(module, "_RECENT", {})
    monkeypatch.setattr(module, "_survey", lambda *_: dataclasses.replace(known))
    first = survey(TwoDoors(), seed=1)
    assert survey(TwoDoors(), seed=1) is first is not known
    assert survey(TwoDoors(), "gpu", seed=1) is not first
    assert survey(TwoDoors(0.8, 6), seed=1) is not first
    last = [survey(TwoDoors(), seed=seed) for seed in (2, 3, 4)][-1]
    assert survey(TwoDoors(), seed=4) is last
    assert len(module._RECENT) == module._MOST_RECENT
    assert survey(TwoDoors(), seed=1) is not first


@pytest.mark.slow
def test_a_family_that_gives_its_likelihood_is_taken_at_its_word():
    found = survey(HiddenNumber(size=4, lies=0.1, horizon=8), counts=True)
    assert isinstance(found.given, Predictions)
    assert found.predictions is not None
    given = np.asarray(found.given.outcomes.cells)
    counted = np.asarray(found.predictions.outcomes.cells)
    numbers = np.arange(4)
    truth = np.sign(numbers[None] - numbers[:, None])[:, None]  # queries x 1 x numbers
    agrees = truth == np.array([-1, 0, 1])[:, None]
    np.testing.assert_allclose(given, np.where(agrees, 0.9, 0.05), rtol=1e-5)
    # 4096 answers a row: six standard errors of at most 0.0047, in one of 48 entries.
    assert 0 < np.abs(given - counted).max() < 6 * 0.0047
    np.testing.assert_allclose(found.given.log_prior, np.log(0.25), atol=1e-6)
    assert survey(TwoDoors()).given is None


def test_what_a_family_gives_is_not_counted_unless_asked():
    found = survey(HiddenNumber(size=4, lies=0.1, horizon=8))
    assert isinstance(found.given, Predictions)
    assert found.predictions is None
    assert found.pilot is not None


def test_small_tables_are_judged_on_more_episodes(monkeypatch):
    family = TwoDoors(0.8, 6)
    tables = survey(family).predictions
    assert isinstance(tables, Predictions)
    usual = module._num_episodes(family)
    assert module._num_greedy(family, tables) == module._MANY * usual
    spec, symbols = family.spec, tables.outcomes.cells
    assert symbols is not None
    numbers = spec.num_hypotheses * spec.num_queries * symbols.shape[1]
    monkeypatch.setattr(module, "_AT_ONCE", 2 * usual * numbers)
    assert module._num_greedy(family, tables) == 2 * usual
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    assert module._num_greedy(family, tables) == usual
