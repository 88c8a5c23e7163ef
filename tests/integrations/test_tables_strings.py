"""Strings of data frames are read as those of files, when learning and after."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from icpe.integrations.tables.reading import columns_of
from icpe.sklearn import ActiveClassifier

RANDOM = np.random.default_rng(0)
ILL = np.arange(100) % 2 == 0
FEVER = np.round(np.where(ILL, 39.0, 37.0) + 0.4 * RANDOM.normal(size=100), 1)
CRP = np.round(np.where(ILL, 9.0, 6.0) + 2 * RANDOM.normal(size=100), 1)
NUMBERS = pd.DataFrame({"fever": FEVER, "crp": np.maximum(CRP, 4.9999)})
STRINGS = pd.DataFrame(
    {
        "fever": [f"{it:.1f} °C".replace(".", ",") for it in FEVER],
        "crp": ["<5" if it < 5 else f"{it:.1f} mg/l".replace(".", ",") for it in CRP],
    }
)
CLASSES = np.where(ILL, "ill", "well")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, "array"])
def test_strings_give_the_classifier_that_numbers_give(make):
    read = (
        (lambda it: it.to_numpy())
        if make == "array"
        else (lambda it: make(it.to_dict("list")))
    )
    one = ActiveClassifier(budget=1).fit(NUMBERS, CLASSES)
    other = ActiveClassifier(budget=1).fit(read(STRINGS), CLASSES)
    np.testing.assert_allclose(
        other.predict_proba(read(STRINGS)), one.predict_proba(NUMBERS), atol=1e-4
    )


@pytest.mark.filterwarnings("ignore:Column .* has")
def test_what_is_read_as_numbers_is_said_and_categories_stay_words():
    with pytest.warns(UserWarning, match="Columns 'fever', 'crp' of strings are read"):
        (fever, _) = columns_of(STRINGS, strings=True)
    assert fever.numbers is not None
    np.testing.assert_allclose(fever.numbers, FEVER)
    assert fever.unit == "°C" and fever.marks == ",."
    codes = pd.DataFrame({"code": ["1", "2", "3"] * 5}).astype("category")
    assert columns_of(codes, strings=True)[0].words[:2] == ("1", "2")


@pytest.mark.filterwarnings("ignore:Column .* has")
def test_numbers_between_strings_are_no_thousands():
    mixed = pd.DataFrame({"crp": [1.234, 8, "8,1", "<5", "7,3", None]})
    with pytest.warns(UserWarning, match="read as numbers"):
        (column,) = columns_of(mixed, strings=True)
    found = column.numbers
    assert found is not None
    np.testing.assert_allclose(found[[0, 1, 2, 4]], [1.234, 8, 8.1, 7.3])
    assert found[3] == pytest.approx(5) and np.isnan(found[5])


@pytest.mark.filterwarnings("ignore:Column")
def test_new_strings_that_are_no_numbers_are_pointed_out():
    found = ActiveClassifier(budget=1).fit(STRINGS, CLASSES)
    with pytest.warns(UserWarning, match="'fever' has 1 of 100 values"):
        found.predict(STRINGS.assign(fever=["hot", *STRINGS["fever"][1:]]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_new_numbers_between_strings_are_no_thousands():
    found = ActiveClassifier(budget=1).fit(STRINGS[["fever"]], CLASSES)
    mixed = [37.251, *STRINGS["fever"][1:]]
    first = found.predict(STRINGS.assign(fever=mixed)[["fever"]])[0]
    assert first == "well"


def test_words_in_other_capitals_are_known_again():
    table = pd.DataFrame({"cough": np.where(ILL, "yes", "no"), "fever": FEVER})
    found = ActiveClassifier(budget=1)
    with pytest.warns(UserWarning, match="alone tells"):
        found.fit(table, CLASSES)
    loud = table.assign(cough=[it.upper() for it in table["cough"]])
    assert np.array_equal(found.predict(loud), CLASSES)
