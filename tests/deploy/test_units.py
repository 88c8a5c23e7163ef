"""Sessions in the user's own units, with the user's own names."""

import json

import numpy as np
import pytest

import icpe
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    UnsupportedError,
)
from icpe.core.request import Request
from icpe.deploy import Session
from icpe.deploy.setup import Setup
from icpe.families import BestOfK, BinarySearch
from icpe.workflow import make_rule

YIELDS = np.array([71.0, 73.5, 72.2, 70.1])
NAMES = ["60 °C", "70 °C", "80 °C", "90 °C"]
FAMILY = BestOfK(most_settings=6, horizon=60)


@pytest.fixture(scope="module")
def explorer():
    return icpe.make_explorer("top-two", FAMILY)


def experiment(explorer, factor=1.0, offset=0.0, seed=0, *, noise: float | None = 1.5):
    """The yields in other units: what was asked, and the session at its end."""
    rng = np.random.default_rng(seed)
    told = None if noise is None else noise * factor
    units = icpe.Units("%", noise=told, matters=factor)
    session = Session(explorer, FAMILY, error_prob=0.1, units=units, names=NAMES)
    asked = []
    while (query := session.ask()) is not None:
        asked.append(query)
        measured = YIELDS[query] + 1.5 * rng.normal()
        assert session.query_name == NAMES[query]
        session.tell(NAMES[query], (measured + offset) * factor)
    return asked, session


def test_the_posterior_has_one_entry_for_each_setting(explorer):
    _, session = experiment(explorer, seed=1)
    belief = session.posterior
    assert belief is not None
    assert belief.shape == (len(NAMES),) != (FAMILY.most_settings,)
    assert belief.sum() == pytest.approx(1.0, abs=1e-6)
    assert belief.argmax() == session.recommendation


def test_four_yields_around_72_per_cent(explorer):
    """At most 10 % of all experiments may end wrong; false alarm 8e-4 for 40."""
    right = [
        experiment(explorer, seed=seed)[1].recommendation_name == "70 °C"
        for seed in range(40)
    ]
    assert sum(right) >= 30


def test_the_same_without_knowing_the_noise(explorer):
    right = [
        experiment(explorer, seed=seed, noise=None)[1].recommendation == 1
        for seed in range(20)
    ]
    assert sum(right) >= 14


@pytest.mark.parametrize(
    ("factor", "offset"), [(0.01, 0.0), (1e4, 0.0), (1.8, 32 / 1.8), (1.0, -1e6)]
)
@pytest.mark.parametrize("noise", [1.5, None])
def test_units_and_offsets_change_no_query(explorer, factor, offset, noise):
    asked, session = experiment(explorer, seed=4, noise=noise)
    other, moved = experiment(explorer, factor, offset, seed=4, noise=noise)
    assert other == asked
    assert moved.recommendation == session.recommendation
    np.testing.assert_array_equal(moved.posterior, session.posterior)


@pytest.mark.parametrize("noise", [1.5, None])
def test_smaller_is_better_mirrors_larger_is_better_bit_for_bit(explorer, noise):
    def told(sign):
        rng = np.random.default_rng(3)
        units = icpe.Units("ms", noise, 1.0, smaller_is_better=sign < 0)
        session = Session(explorer, FAMILY, error_prob=0.1, units=units, names=NAMES)
        while (query := session.ask()) is not None:
            session.tell(query, sign * (YIELDS[query] + 1.5 * rng.normal()))
        return session

    larger, smaller = told(1.0), told(-1.0)
    assert len(smaller.history) == len(larger.history) > 2
    for one, other in zip(larger.history, smaller.history, strict=True):
        assert one.told is not None and other.told == -one.told
        assert one.query == other.query
        np.testing.assert_array_equal(one.outcome, other.outcome)
    np.testing.assert_array_equal(larger.posterior, smaller.posterior)
    assert smaller.recommendation == larger.recommendation


@pytest.mark.slow
def test_smaller_is_better_is_kept_with_the_session_and_old_ones_do_not_have_it():
    artifact = make_rule(FAMILY, "top-two", calibration_episodes=8)
    units = icpe.Units("ms", noise=1.5, matters=1.0, smaller_is_better=True)
    setup = Setup.of(artifact, None, Request(budget=3), units=units, names=NAMES)
    values = json.loads(json.dumps(setup.to_dict()))
    again = Setup.from_dict(values, artifact).reading
    assert again is not None and again.outcome(70.0, 75.0) == (5.0, 0.0, 0.0)
    del values["units"]["smaller_is_better"]
    old = Setup.from_dict(values, artifact).reading
    assert old is not None and old.outcome(70.0, 75.0) == (-5.0, 0.0, 0.0)


def test_what_was_told_is_kept_as_it_was_told(explorer):
    _, session = experiment(explorer, 1.8, 32 / 1.8, seed=4)
    first, second, *_ = session.history
    assert first.outcome.tolist() == [0.0, 0.0, 0.0]
    assert first.told is not None and second.told is not None
    away = (second.told - first.told) / 1.8
    assert second.outcome[0] == pytest.approx(away, abs=1e-3)


def test_only_the_users_settings_are_asked_for(explorer):
    units = icpe.Units("mm", noise=1.0, matters=1.0)
    session = Session(explorer, FAMILY, budget=10, units=units, first_outcome=2)
    while (query := session.ask()) is not None:
        assert query < 2
        session.tell(query, 3.0 * query)
    assert session.recommendation == 1
    with pytest.raises(InvalidOutcomeError, match="is not allowed now"):
        Session(explorer, FAMILY, budget=1, units=units, first_outcome=2).tell(2, 1.0)


def test_a_durable_session_is_reopened_in_the_same_units(explorer):
    """Also where settings have no names, and the noise is not known."""
    setup = Setup.of(
        explorer,
        FAMILY,
        Request(budget=5),
        units=icpe.Units("mm", matters=0.5),
        first_outcome=3,
    )
    values = json.loads(json.dumps(setup.to_dict()))
    artifact = make_rule(FAMILY, "top-two", calibration_episodes=8)
    again = Setup.from_dict(values, artifact)
    assert again.reading == setup.reading
    assert again.first_outcome.tolist() == [0.0, 3.0, 0.0]


def test_bad_input_changes_nothing(explorer):
    units = icpe.Units("%", noise=1.5, matters=1.0)
    session = Session(explorer, FAMILY, error_prob=0.1, units=units, names=NAMES)
    for query, outcome in ((0, float("nan")), ("60 C", 71.0), (0, [71.0, 2.0])):
        with pytest.raises(InvalidOutcomeError):
            session.tell(query, outcome)
    assert session.history == ()
    session.tell("60 °C", 71.0)
    assert session.history[0].query == 0


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, InvalidParameterError, "names is missing"),
        ({"names": NAMES, "first_outcome": 3}, InvalidOutcomeError, "leave it out"),
        ({"names": ["a"]}, InvalidParameterError, "2 to 6 different names"),
        ({"names": NAMES, "units": "%"}, InvalidParameterError, "units must be such"),
    ],
)
def test_what_cannot_be_asked(explorer, given, error, words):
    units = icpe.Units("%", noise=1.5, matters=1.0)
    with pytest.raises(error, match=words):
        Session(explorer, FAMILY, error_prob=0.1, **{"units": units, **given})


def test_families_with_units_of_their_own_refuse_others():
    family = BinarySearch(size=4)
    explorer = icpe.make_explorer("uniform", family)
    with pytest.raises(UnsupportedError, match="in its own units alone"):
        Session(explorer, family, error_prob=0.1, units=icpe.Units("%"))
