"""Sessions in the user's own units, with the user's own names."""

import csv
import dataclasses
import datetime
import io
import json
import re

import numpy as np
import pytest

import icpe
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    SessionError,
    UnsupportedError,
)
from icpe.core.request import Request
from icpe.deploy import Session, open_session
from icpe.deploy.memory import MemoryStorage
from icpe.deploy.report import read_report, report_problems, session_report
from icpe.deploy.report_html import report_page
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


@pytest.mark.parametrize("unit, ending", [("ms", ", in ms?"), ("", "?")])
def test_questions_are_about_what_is_told(explorer, unit, ending):
    units = icpe.Units(unit, noise=12, matters=10)
    request = Request(error_prob=0.1)
    setup = Setup.of(explorer, FAMILY, request, units=units, names=["as it is", "new"])
    assert setup.words.question == "Try {query}: what is the outcome" + ending


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
    session = Session(explorer, FAMILY, budget=1, units=units, first_outcome=2)
    for none in (2, 5, 64):  # the family has room for 6
        with pytest.raises(InvalidOutcomeError, match=r"number from 0 to 1[,;]") as it:
            session.tell(none, 1.0)
        assert "not allowed" not in str(it.value)


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


def test_only_the_users_names_are_offered(explorer):
    units = icpe.Units("%", noise=1.5, matters=1.0)
    session = Session(explorer, FAMILY, error_prob=0.1, units=units, names=NAMES)
    sentence = "from 0 to 3, or a name: 60 °C, 70 °C, 80 °C, 90 °C; got 'warm'"
    with pytest.raises(InvalidOutcomeError, match=sentence):
        session.tell("warm", 71.0)
    with pytest.raises(InvalidOutcomeError, match=sentence):
        session.skip("warm")


MS = icpe.Units("ms", noise=12, matters=8, smaller_is_better=True)
VARIANTS = ["as it is", "index", "cache", "batching"]


@pytest.fixture(scope="module")
def reported():
    """Three answers, the last of which cannot be."""
    asked = {"error_prob": 0.1, "units": MS, "names": VARIANTS}
    explorer = icpe.zoo.load("best-of-k")
    session = open_session(explorer, storage=MemoryStorage(), id="times", **asked)
    for told in (212.5, 198, 1e9):
        session.tell(session.ask(1)[0], told)
    return session


def test_the_alarm_speaks_in_the_users_units_and_names(reported):
    said = reported.alarm
    pattern = (
        r"1000000000 ms came for cache, where ([\d.]+) to ([\d.]+) ms were expected; .*"
    )
    found = re.fullmatch(pattern, said)
    assert found is not None, said
    low, high = map(float, found.groups())
    assert 50 < low < 212.5 < high < 400
    assert reported.certificate_lost == said


@pytest.mark.parametrize(
    ("noise", "factor", "told"),
    [
        (1.5, 0.01, "a noise of 1.5 % was told"),
        (None, 0.01, "a noise from 0.25 % to 2 % was assumed"),
    ],
    ids=["fractions", "noise not known"],
)
def test_repeats_with_another_noise_lose_the_certificate(noise, factor, told):
    rng = np.random.default_rng(3)
    units = icpe.Units("%", noise=noise, matters=1.0)
    explorer = icpe.zoo.load("best-of-k")
    session = Session(explorer, error_prob=0.1, units=units, names=NAMES)
    while (query := session.ask()) is not None and session.alarm is None:
        session.tell(query, 70.0 * factor + 1.5 * factor * rng.normal())
    said = session.alarm
    assert said is not None and not session.certified
    found = re.fullmatch(
        rf"repeats of the same setting scatter by ([\d.]+) %, where {told}; are the "
        "units and the noise right[?]",
        said,
    )
    assert found is not None, said
    assert float(found[1]) == pytest.approx(1.5 * factor, rel=0.7)
    assert len(session.history) <= 20


def test_the_report_says_what_the_numbers_mean(reported):
    report = json.loads(json.dumps(reported.report()))
    assert report["units"] == dataclasses.asdict(MS)
    assert report["hypotheses"] == VARIANTS
    assert [len(it["posterior"]) for it in report["steps"]] == [4] * 4
    page = report_page(report)
    words = "in ms, smaller is better, noise 12 ms, a difference of 8 ms matters"
    assert words in page and "<td>212.5 ms</td>" in page and "setting 5" not in page
    assert report_problems(read_report(report), reported._rules) == []


def test_reports_from_before_are_still_checked(reported):
    """They have a probability for every setting of the family, and other words."""
    again = session_report("times", reported._rules, reported.events, whole=True)
    report = json.loads(json.dumps(again))
    for name in ("units", "digest"):
        del report[name]
    reason = "-1e+08, 0, 0 came for query setting 3"
    report["result"] |= {"alarm": reason, "certificate_lost": reason}
    [alarmed] = [it for it in report["events"] if it["kind"] == "alarmed"]
    alarmed["body"]["reason"] = reason
    assert len(report["steps"][0]["posterior"]) == 16
    assert report_problems(report, reported._rules) == []
    report["steps"][2]["posterior"][0] += 1e-6
    assert report_problems(report, reported._rules) != []


def test_answers_are_tabled_as_they_were_told(reported):
    rows = list(csv.reader(io.StringIO(reported.answers_csv())))
    head, *answers = rows
    assert {len(row) for row in rows} == {len(head)}
    assert ",".join(head) == "answer,time,query,name,asked,counts,outcome (ms)"
    assert [row[-1] for row in answers] == ["212.5", "198.0", "1000000000.0"]
    assert [row[3] for row in answers] == VARIANTS[:3]
    times = [datetime.datetime.fromisoformat(row[1]) for row in answers]
    assert all(it.utcoffset() == datetime.timedelta(0) for it in times)
    told = [it.time for it in reported.events if it.kind == "told"]
    assert [it.timestamp() for it in times] == pytest.approx(told, abs=1e-3)


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
        Session(explorer, family, error_prob=0.1, units=icpe.Units("%", matters=1))


@pytest.mark.parametrize(
    "change, words",
    [
        ({"names": ["B", "A", "C", "D"]}, "with names ['A', 'B', 'C', 'D'], not ['B',"),
        ({"units": icpe.Units("%", noise=0.3, matters=1.0)}, "'noise': 0.3"),
    ],
)
def test_a_session_is_not_reopened_under_other_names_or_units(change, words):
    """Answers would be taken for those of another setting, or in another unit."""
    storage = MemoryStorage()
    about = {
        "units": icpe.Units("%", noise=1.5, matters=1.0),
        "names": ["A", "B", "C", "D"],
    }
    explorer = icpe.zoo.load("best-of-k")
    open_session(explorer, storage=storage, id="yield", error_prob=0.1, **about)
    assert open_session(explorer, storage=storage, id="yield", **about).id == "yield"
    with pytest.raises(SessionError, match="or choose another id") as caught:
        open_session(explorer, storage=storage, id="yield", **{**about, **change})
    assert words in str(caught.value)


@pytest.mark.parametrize("typed", ["71,3", "71.3 %", " 71,30 %", 71.3])
def test_numbers_may_be_told_as_people_type_them(explorer, typed):
    units = icpe.Units("%", noise=1.5, matters=1.0)
    session = Session(explorer, FAMILY, error_prob=0.1, units=units, names=NAMES)
    session.tell("60 °C", typed)
    assert session.history[0].told == 71.3


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("high", "in %; got 'high': 'high' is no number"),
        ("1,234", "got '1,234': 1,234 may be 1.2340 or 1234"),
    ],
)
def test_text_that_is_no_number_is_refused(explorer, typed, words):
    units = icpe.Units("%", noise=1.5, matters=1.0)
    session = Session(explorer, FAMILY, error_prob=0.1, units=units, names=NAMES)
    with pytest.raises(InvalidOutcomeError, match=re.escape(words)):
        session.tell("60 °C", typed)
