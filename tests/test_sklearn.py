"""The classifier that asks, in the manner of scikit-learn."""

import dataclasses
import warnings

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import icpe
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.integrations.tables.left_out import play
from icpe.integrations.tables.rows import split_rows
from icpe.play.rollout import run_cases
from icpe.sklearn import ActiveClassifier
from support.small_tables import patients

TABLE, CLASSES = patients()
NEW, TRUTH = patients(60, seed=1)


@pytest.fixture(scope="module")
def classifier():
    return ActiveClassifier().fit(TABLE, CLASSES)


@pytest.fixture(scope="module")
def artifact(classifier):
    return classifier.to_artifact()


def test_it_classifies_new_cases_with_few_features(classifier):
    said = classifier.predict(NEW)
    assert set(said) <= {"ill", "well"}
    assert np.mean(said == TRUTH) >= 0.85
    assert classifier.n_queries_.shape == classifier.cost_.shape == (60,)
    assert 1 <= classifier.n_queries_.mean() <= 3
    np.testing.assert_array_equal(classifier.cost_, classifier.n_queries_)


def test_probabilities_are_those_of_the_classes_that_it_names(classifier):
    chances = classifier.predict_proba(NEW)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    best = classifier.classes_[chances.argmax(axis=1)]
    np.testing.assert_array_equal(best, classifier.predict(NEW))


def test_polars_and_pandas_are_alike(classifier):
    known = pl.DataFrame(NEW.to_dict("list")).with_columns(
        pl.col("fever").fill_nan(None)
    )
    np.testing.assert_array_equal(
        classifier.predict_proba(known), classifier.predict_proba(NEW)
    )


def test_a_session_asks_what_predict_asks(classifier, artifact):
    """Three ways to the same end: the batch, one live case, and episodes."""
    chances = classifier.predict_proba(NEW)
    number = classifier.n_queries_
    for case in range(3):
        session = classifier.session()
        while session.ask() is not None:
            name = session.query_name
            session.tell(session.ask(), NEW[name].iloc[case])
        assert len(session.history) == number[case]
        np.testing.assert_allclose(session.posterior, chances[case], atol=1e-5)
    point = artifact.operating_point(error_prob=classifier.error_prob_)
    family = artifact.family
    cases = family.held_out_cases()
    ending = run_cases(artifact.explorer, family, point, cases, key=jr.key(0))
    held_out = TABLE.iloc[_held_out_rows()]
    said = classifier.predict(held_out)
    np.testing.assert_array_equal(said, classifier.classes_[ending.recommendation])
    np.testing.assert_array_equal(classifier.n_queries_, ending.num_queries)


def _held_out_rows():
    _, labels = np.unique(CLASSES, return_inverse=True)
    return split_rows(labels, 0.2, np.random.default_rng(0)).held_out


def test_rows_that_were_held_out_are_in_nothing_that_it_knows(classifier):
    """Other values in these rows change nothing but what it is certified on."""
    rows = _held_out_rows()
    other = TABLE.copy()
    for name in ("fever", "marker", "shoe size"):
        other.loc[rows, name] = 1e6 + np.arange(len(rows))
    changed = ActiveClassifier().fit(other, CLASSES)
    one, two = changed._fitted.family, classifier._fitted.family
    for name in ("cells", "log_weight", "kernel", "codes", "edges", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert changed._table == classifier._table
    assert not np.array_equal(one.held_out, two.held_out)


def test_a_row_that_is_left_out_is_as_if_it_were_not_there(classifier):
    fitted = classifier._fitted
    family = fitted.family
    weight = np.array(family.log_weight)
    cells = np.asarray(family.cells)[1, 2][None]
    gone = weight.copy()
    gone[1, 2] = -1e9
    without = dataclasses.replace(family, log_weight=gone)
    own = np.array([weight.shape[1] + 2])
    left_out, absent = play(family, cells, own), play(without, cells)
    np.testing.assert_allclose(left_out.log_posterior, absent.log_posterior, atol=1e-5)
    np.testing.assert_array_equal(left_out.queries, absent.queries)


def test_the_file_plays_alone(artifact, tmp_path):
    artifact.save(tmp_path / "t.safetensors")
    loaded = icpe.Artifact.load(tmp_path / "t.safetensors")
    session = icpe.Session(loaded, budget=2)
    session.tell("cough", "yes")
    session.tell("fever", 40.0)
    assert session.stopped and session.recommendation == 0
    assert session.posterior is not None and session.posterior[0] > 0.9


def test_a_budget_is_kept_and_caps_an_error_probability():
    exact = ActiveClassifier(budget=2).fit(TABLE, CLASSES)
    exact.predict(NEW)
    assert set(exact.n_queries_) == {2} and exact.error_prob_ is None
    capped = ActiveClassifier(error_prob=0.3, budget=2).fit(TABLE, CLASSES)
    capped.predict(NEW)
    assert capped.n_queries_.max() <= 2
    with pytest.raises(OperatingPointError, match="budget"):
        ActiveClassifier(budget=9).fit(TABLE, CLASSES)


def test_costs_and_groups_change_what_is_asked():
    dear = ActiveClassifier(costs={"fever": 50.0}).fit(TABLE, CLASSES)
    names = dear._fitted.family.query_names
    assert "fever" not in {names[it] for it in dear._fitted.plays.queries[:, 0]}
    grouped = ActiveClassifier(
        groups={"visit": ["fever", "cough"]}, costs={"visit": 3.0}
    ).fit(TABLE, CLASSES)
    assert set(grouped._fitted.plays.queries[:, 0]) == {0}
    family = grouped._fitted.family
    told = family.answers().read(0, {"fever": 40.1, "cough": "yes"})
    belief = family.exact_belief()
    state = belief.update(
        belief.init(jnp.zeros(2)), jnp.asarray(0), jnp.array(told, jnp.float32)
    )
    assert np.exp(belief.log_posterior(state))[0] > 0.9
    assert np.mean(grouped.predict(NEW) == TRUTH) >= 0.85
    assert set(grouped.cost_) <= {3.0, 4.0, 5.0}


def test_what_cannot_be_reached_is_served_with_a_warning():
    with pytest.warns(UserWarning, match="error_prob=0.001 is not reached"):
        hopeful = ActiveClassifier(error_prob=0.001).fit(TABLE, CLASSES)
    assert hopeful.error_prob_ is not None and hopeful.error_prob_ > 0.001
    hopeful.predict(NEW)


def test_columns_that_tell_nothing_or_everything_are_warned_of():
    with pytest.warns(UserWarning, match="Column 'same' with a single value"):
        ActiveClassifier(budget=1).fit(TABLE.assign(same=1.0), CLASSES)
    with pytest.warns(UserWarning, match="Column 'again' alone tells the class"):
        ActiveClassifier(budget=1).fit(TABLE.assign(again=CLASSES), CLASSES)


@pytest.mark.parametrize(
    ("table", "classes", "sentence"),
    [
        (TABLE, np.where(np.arange(120) == 5, "odd", CLASSES), "1 row of class 'odd'"),
        (TABLE, np.full(120, "ill"), "at least two classes; got one class"),
        (TABLE[["cough"]].assign(cough="no"), CLASSES, "no column with two different"),
    ],
)
def test_tables_that_teach_nothing_are_refused(table, classes, sentence):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InvalidParameterError, match=sentence):
            ActiveClassifier().fit(table, classes)


@pytest.mark.filterwarnings("ignore:Column 'fever' alone")
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_class_are_left_out_with_a_warning(missing):
    y = pd.Series(CLASSES, dtype=object)
    y[[3, 7]] = missing
    patient = np.arange(len(y))
    with pytest.warns(UserWarning, match="2 of 120 rows have no class and are left"):
        found = ActiveClassifier(budget=1).fit(TABLE, y, subjects=patient)
    assert list(found.classes_) == ["ill", "well"]
    assert sum(found.to_artifact().training["rows_by_class"].values()) == 118
    with pytest.warns(UserWarning, match="1 of 120 rows has no class"):
        numbers = np.where(CLASSES == "ill", 1.0, 0.0)
        numbers[0] = np.nan
        found = ActiveClassifier(budget=1).fit(TABLE, numbers)
    assert list(found.classes_) == [0, 1]
    with pytest.raises(InvalidParameterError, match="y has no class for any row"):
        ActiveClassifier().fit(TABLE, np.full(120, np.nan))


def test_it_is_cloned_with_its_parameters():
    made = ActiveClassifier(error_prob=0.1, costs={"a": 2.0}, groups=[["a", "b"]])
    again = clone(made)
    assert isinstance(again, ActiveClassifier)
    assert again.get_params() == made.get_params()


ONE_ROW = "its y has a class of one row, which is refused since nothing is like it"
EXPECTED = {
    "check_dont_overwrite_parameters": ONE_ROW,
    "check_f_contiguous_array_estimator": ONE_ROW,
    "check_methods_sample_order_invariance": ONE_ROW,
    "check_methods_subset_invariance": ONE_ROW,
    "check_dict_unchanged": ONE_ROW,
    "check_fit2d_predict1d": ONE_ROW,
}


@pytest.mark.slow
def test_scikit_learn_finds_nothing_wrong_but_what_is_argued():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            ActiveClassifier(), expected_failed_checks=EXPECTED, on_skip=None
        )
    status = {it["check_name"]: it["status"] for it in found}
    assert "failed" not in status.values()
    assert {name for name, it in status.items() if it == "xfail"} == set(EXPECTED)


def test_numbers_and_words_may_be_mixed_in_an_array():
    rows = TABLE.to_numpy(object)
    found = ActiveClassifier(budget=2).fit(rows, CLASSES)
    assert np.mean(found.predict(NEW.to_numpy(object)) == TRUTH) >= 0.8
    assert isinstance(pd.Series(found.classes_).iloc[0], str)
