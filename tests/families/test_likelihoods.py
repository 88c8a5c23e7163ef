"""Families from tables of probabilities: what is read, and what is refused."""

import itertools
import json

import jax.numpy as jnp
import numpy as np
import pandas
import polars
import pytest

import icpe
from icpe.core.errors import DataError, IcpeError, InvalidOutcomeError
from icpe.core.family import parameters
from icpe.evaluate.limits import limits
from icpe.families import from_likelihoods, make
from icpe.testing import check_family

LIKELIHOOD = [
    [[0.9, 0.1], [0.1, 0.2, 0.7]],
    [[0.1, 0.9], [0.6, 0.3, 0.1]],
]
NAMES = {
    "hypotheses": ["flu", "cold"],
    "queries": ["blood test", "temperature"],
    "outcomes": [["positive", "negative"], ["normal", "raised", "high"]],
}
PRIOR = {"flu": 0.2, "cold": 0.8}
COSTS = {"blood test": 4, "temperature": 1}


def rows():
    """The same table in long form."""
    for h, q in itertools.product(range(2), range(2)):
        for o, probability in enumerate(LIKELIHOOD[h][q]):
            hypothesis, query = NAMES["hypotheses"][h], NAMES["queries"][q]
            outcome = NAMES["outcomes"][q][o]
            yield hypothesis, query, outcome, probability, PRIOR[hypothesis]


COLUMNS = ["hypothesis", "query", "outcome", "probability", "prior"]


@pytest.fixture
def family():
    return from_likelihoods(LIKELIHOOD, PRIOR, COSTS, True, NAMES)


@pytest.fixture
def csv_file(tmp_path):
    def write(lines, name="tests.csv"):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def lines(separator=","):
    header = separator.join(COLUMNS)
    return [header, *(separator.join(map(str, row)) for row in rows())]


def test_the_family_keeps_its_contract(family):
    check_family(family)
    check_family(make("likelihoods"))


def test_the_posterior_is_that_of_bayes(family, posterior_after):
    """By hand: 0.2 * 0.9 * 0.1 against 0.8 * 0.1 * 0.6."""
    posterior = posterior_after(family, (0, 0.0), (1, 0.0))
    np.testing.assert_allclose(posterior, [0.018 / 0.066, 0.048 / 0.066], rtol=1e-5)


def test_outcomes_follow_the_table(family, draw_outcomes, draw_tasks):
    """Of 20,000 answers, by 5 standard errors: a false alarm has probability 4e-6."""
    found = draw_outcomes(family, jnp.int32(0), 1, 20_000)[:, 0]
    for outcome, probability in enumerate(LIKELIHOOD[0][1]):
        error = np.sqrt(probability * (1 - probability) / 20_000)
        assert abs((found == outcome).mean() - probability) < 5 * error
    share = (draw_tasks(family, 20_000) == 0).mean()
    assert abs(share - 0.2) < 5 * np.sqrt(0.16 / 20_000)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_file_is_the_array(family, csv_file, separator):
    read = from_likelihoods(csv_file(lines(separator)), costs=COSTS)
    assert read.title == "tests.csv"
    assert read.spec == family.spec
    np.testing.assert_array_equal(read.table, family.table)
    np.testing.assert_array_equal(read.prior, family.prior)


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_a_data_frame_is_the_file(family, frame):
    columns = dict(zip(COLUMNS, map(list, zip(*rows(), strict=True)), strict=True))
    read = from_likelihoods(frame(columns), costs=COSTS)
    np.testing.assert_array_equal(read.table, family.table)
    assert read.spec == family.spec


def test_it_is_rebuilt_from_what_a_file_holds(family):
    stored = json.loads(json.dumps(parameters(family)))
    again = make("likelihoods", table=family.table, prior=family.prior, **stored)
    assert again.spec == family.spec


def test_costs_come_in_every_form(family, csv_file):
    path = csv_file(["query,cost", "temperature,1", "blood test,4"], "costs.csv")
    for costs in (path, str(path), [4, 1], {0: 4, "temperature": 1}):
        again = from_likelihoods(LIKELIHOOD, PRIOR, costs, True, NAMES)
        assert again.spec.costs == (4.0, 1.0)


def test_the_optimum_is_found_by_enumeration(family):
    """A single query is affordable, so the best of three plans is the optimum."""
    prior = np.array([0.2, 0.8])

    def value(query, price):
        joint = prior[:, None] * np.array([row[query] for row in LIKELIHOOD])
        return joint.max(axis=0).sum() - price * [4, 1][query]

    price = 0.05
    found = limits(family, price=price)
    best = max(0.8, value(0, price), value(1, price))
    accuracy, cost = found["bayes_accuracy"], found["bayes_mean_cost"]
    assert accuracy is not None and cost is not None
    assert accuracy - price * cost >= best - 1e-9


def test_a_session_goes_by_names(family):
    session = icpe.Session(
        icpe.make_explorer("information-gain", family), family, error_prob=0.01
    )
    assert session.query_name == family.spec.query_name(session.ask())
    session.tell("Temperature ", "HIGH")
    session.tell(0, "positive")
    assert [(it.query, float(it.outcome[0])) for it in session.history] == [
        (1, 2.0),
        (0, 0.0),
    ]
    assert session.stopped and session.query_name is None
    assert session.recommendation_name == "flu"


@pytest.mark.parametrize(
    "query, outcome, complaint",
    [
        ("blod test", "positive", "or a name: .*did you mean 'blood test'"),
        ("blood test", "positiv", r"blood test: outcome must be 0 \(positive\) or 1"),
        ("blood test", 2, "got 2"),
        ("temperature", "positive", r"0 \(normal\) or 1 \(raised\) or 2 \(high\)"),
    ],
)
def test_what_is_told_must_be_known(family, query, outcome, complaint):
    session = icpe.Session(
        icpe.make_explorer("information-gain", family), family, error_prob=0.01
    )
    with pytest.raises(InvalidOutcomeError, match=complaint):
        session.tell(query, outcome)
    assert not session.history


def test_answers_that_nothing_allows_contradict(history_of):
    family = from_likelihoods([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]]])
    assert not family.contradicts(history_of((0, 0.0)))
    assert family.contradicts(history_of((0, 1.0), (1, 1.0)))


def changed(row, column, value):
    cells = lines()[row].split(",")
    cells[column] = value
    return [*lines()[:row], ",".join(cells), *lines()[row + 1 :]]


@pytest.mark.parametrize(
    "written, complaint",
    [
        (changed(0, 3, "chance"), "column 'chance'"),
        (changed(2, 3, "0.2"), r"line 3: .*'blood test' given hypothesis 'flu' sum to"),
        (changed(2, 3, "-0.1"), "line 3: probability must lie between 0 and 1"),
        (changed(2, 3, "much"), "line 3: probability must be a number; got 'much'"),
        (changed(2, 2, "positive"), "line 3 repeats"),
        (changed(7, 2, "Negative"), "outcomes 'negative' and 'Negative' of query"),
        (changed(7, 0, "Cold"), "write 'cold' and 'Cold' alike if they are one"),
        (changed(2, 0, ""), "line 3: hypothesis is empty"),
        (changed(2, 4, "0.3"), "line 3: prior of 'flu' is 0.3, but 0.2 before"),
        (lines()[:-3], "no row of hypothesis 'cold' and query 'temperature'"),
        (lines()[:6], "one hypothesis"),
        ([*lines()[:2], "flu,blood test"], "line 3 has 2 values"),
        (lines()[:1], "has no rows"),
        ([], "is empty"),
        ([row.rpartition(",")[0].rpartition(",")[0] for row in lines()], "no column"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(csv_file, written, complaint):
    with pytest.raises(DataError, match=complaint) as caught:
        from_likelihoods(csv_file(written))
    assert "\n" not in str(caught.value) and str(caught.value).endswith((".", "?"))


def test_a_missing_file_is_refused():
    with pytest.raises(DataError, match=r"nothing\.csv cannot be read: No such file"):
        from_likelihoods("nothing.csv")


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"likelihood": [[0.5, 0.5]]}, "hypotheses x queries x outcomes"),
        ({"likelihood": "tests.csv"}, "names of its own"),
        ({"likelihood": [LIKELIHOOD[0], [[0.5, 0.6], [1, 0, 0]]]}, "sum to 1.1"),
        ({"likelihood": [LIKELIHOOD[0], [[0.5], [0.5, 0.5]]]}, "same number of outc"),
        ({"prior": [0.5, 0.6]}, "sum to 1.1"),
        ({"prior": {"flu": 1.0}}, "lacks 'cold'"),
        ({"prior": [1.0]}, "2 probabilities"),
        ({"costs": [1.0]}, "2 numbers"),
        ({"costs": {"blood test": 0, "temperature": 1}}, "positive"),
        ({"costs": {"pulse": 1}}, "'pulse', which does not exist"),
        ({"names": {"hypothesis": ["flu"]}}, "names of hypotheses must be 2"),
        ({"names": {"diseases": ["flu"]}}, "'diseases'"),
        ({"names": {"queries": ["a", "a"]}}, "'a' twice"),
        ({"names": {"outcomes": [["a"], ["a", "b", "c"]]}}, "has only the outcomes a"),
        ({"horizon": 0}, "horizon must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(change, complaint):
    arguments = {"likelihood": LIKELIHOOD, "names": NAMES} | change
    with pytest.raises(IcpeError, match=complaint):
        from_likelihoods(**arguments)


def test_what_has_no_cost_costs_1():
    family = from_likelihoods(LIKELIHOOD, names=NAMES, costs={"blood test": 4})
    named = dict(zip(family.spec.query_names, family.spec.costs, strict=True))
    assert named == {"blood test": 4.0, "temperature": 1.0}
