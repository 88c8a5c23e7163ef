"""Reports survive JSON, and refuse what is not one."""

import dataclasses
import json
import sys

import pytest

from icpe.core.errors import InvalidParameterError, MissingExtraError
from icpe.evaluate.report import Report, family_record, to_frame
from icpe.families import GaussianBandit

KEYS = [
    "explorer",
    "family",
    "episodes",
    "seed",
    "price",
    "budget",
    "error_prob",
    "query_cap",
    "certified",
    "confidence",
    "attempt",
    "accuracy",
    "accuracy_interval",
    "mean_queries",
    "mean_queries_interval",
    "max_queries",
    "mean_cost",
    "query_quantiles",
    "survival",
    "stop_reasons",
    "promise",
    "undecided",
    "decided_accuracy",
    "decided_accuracy_interval",
]


def example(**changes) -> Report:
    report = Report(
        explorer="uniform",
        family=family_record(GaussianBandit(num_arms=4)),
        episodes=4,
        seed=7,
        price=None,
        budget=None,
        error_prob=0.1,
        query_cap=None,
        certified=False,
        confidence=None,
        attempt=None,
        accuracy=0.75,
        accuracy_interval=(0.2, 0.99),
        mean_queries=1.5,
        mean_queries_interval=(0.5, 2.5),
        max_queries=2,
        mean_cost=1.5,
        query_quantiles={"0.5": 1},
        survival=(1.0, 0.5, 0.0),
        stop_reasons={"explorer": 4},
    )
    return dataclasses.replace(report, **changes)


def test_a_report_survives_json():
    assert Report.from_json(example().to_json()) == example()


def test_the_keys_of_the_json_are_stable_and_absent_is_null():
    values = json.loads(example().to_json())
    assert list(values) == KEYS
    assert values["price"] is None
    assert values["accuracy_interval"] == [0.2, 0.99]
    assert values["family"]["name"] == "gaussian-bandit"
    assert values["family"]["parameters"]["num_arms"] == 4


def test_a_missing_field_is_named():
    values = example().to_dict()
    del values["accuracy"]
    with pytest.raises(InvalidParameterError, match="lacks 'accuracy'"):
        Report.from_dict(values)


def test_an_unknown_field_is_named():
    with pytest.raises(InvalidParameterError, match="unknown field 'regret'"):
        Report.from_dict(example().to_dict() | {"regret": 1.0})


def test_not_a_number_never_reaches_a_file():
    with pytest.raises(ValueError, match="not JSON compliant"):
        example(mean_cost=float("nan")).to_json()


def test_a_report_is_a_row_of_a_data_frame():
    pytest.importorskip("pandas")
    frame = to_frame([example(), example(explorer="other", stop_reasons={})])
    assert list(frame["explorer"]) == ["uniform", "other"]
    [row] = example().to_frame().to_dict("records")
    assert (row["family"], row["family.num_arms"]) == ("gaussian-bandit", 4)
    assert (row["accuracy_low"], row["accuracy_high"]) == (0.2, 0.99)
    assert (row["queries_0.5"], row["stop_explorer"]) == (1, 4)
    assert row["price"] is None
    assert "survival" not in row


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"icpe\[tables\]\""):
        example().to_frame()


def test_the_title_names_family_and_parameters():
    assert example().title.startswith("gaussian-bandit(num_arms=4, min_gap=0.4")
