"""Tables as they come: columns, cells, costs and groups, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from icpe.core.errors import DataError, InvalidParameterError, UnknownNameError
from icpe.families.table.columns import OTHER
from icpe.integrations.tables.asked import measurements, read_costs
from icpe.integrations.tables.encoding import MOST_CELLS, make_feature
from icpe.integrations.tables.kernels import Smoothing, feature_kernels
from icpe.integrations.tables.odd_columns import sort_out
from icpe.integrations.tables.reading import Column, columns_of, read_csv

NAMES = ["age", "color", "smokes"]
VALUES = {
    "age": [31.0, None, 50.0],
    "color": ["red", None, "blue"],
    "smokes": [True, False, None],
}


def floats(*values):
    return np.array(values, np.float32)


def frames():
    yield pd.DataFrame(VALUES)
    yield pd.DataFrame(VALUES).convert_dtypes()
    yield pd.DataFrame(VALUES).astype({"color": "category"})
    yield pl.DataFrame(VALUES)


@pytest.mark.parametrize(
    "frame", list(frames()), ids=["pandas", "nullable", "cat", "polars"]
)
def test_data_frames_give_the_same_columns(frame):
    age, color, smokes = columns_of(frame)
    assert [age.name, color.name, smokes.name] == NAMES
    assert age.numbers is not None
    np.testing.assert_array_equal(age.numbers, floats(31, np.nan, 50))
    assert color.words == ("red", None, "blue")
    assert smokes.words == ("True", "False", None)


def test_arrays_of_numbers_and_of_anything_are_columns():
    number, word = columns_of(np.array([[1.5, "a"], [np.nan, "b"]], object))
    assert word.words == ("a", "b") and number.numbers is not None
    assert np.isnan(number.numbers[1])
    (whole,) = columns_of(np.array([[1], [2]]))
    assert whole.name == "x0" and whole.numbers is not None


def test_what_is_no_number_or_word_is_refused():
    with pytest.raises(InvalidParameterError, match="'x0' contains infinity"):
        columns_of(np.array([[np.inf], [1.0]]))
    with pytest.raises(InvalidParameterError, match="'when' has dates"):
        columns_of(pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}))
    with pytest.raises(TypeError, match="must be a string or a real number"):
        columns_of(np.array([[{"a": 1}], [2.0]], object))


def test_few_values_are_cells_of_their_own_and_many_are_quantiles():
    few = make_feature(Column("a", floats(1, 2, 2, 5)))
    assert few.num_cells == 3
    np.testing.assert_array_equal(
        few.cells(Column("a", floats(1, 5, 9))), 1 + np.array([0, 2, 2])
    )
    random = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    many = make_feature(Column("a", random))
    assert many.num_cells == MOST_CELLS
    counts = np.bincount(many.cells(Column("a", random)))[1:]
    assert counts.min() >= 95 and counts.max() <= 105


def test_every_cell_of_numbers_has_some_even_where_they_pile_up():
    for seed in range(20):
        random = np.random.default_rng(seed)
        piled = np.where(random.random(150) < 0.45, 0, random.lognormal(size=150))
        column = Column("a", piled.astype(np.float32))
        feature = make_feature(column)
        assert np.all(np.diff(feature.values) > 0) and np.all(
            np.diff(feature.edges) > 0
        )
        assert np.all(np.bincount(feature.cells(column))[1:] > 0)
        assert len(feature.edges) == feature.num_cells - 1


def test_words_beyond_the_common_ones_share_a_level():
    words = tuple(f"w{i % 40}" for i in range(400)) + ("common",) * 50
    feature = make_feature(Column("a", None, words))
    assert feature.levels[0] == "common" and feature.levels[-1] == OTHER
    cells = feature.cells(Column("a", None, ("common", "never seen", None)))
    assert cells.tolist() == [1, len(feature.levels), 0]
    plain = make_feature(Column("a", None, ("x", "y", "x")))
    assert plain.cells(Column("a", None, ("z",))).tolist() == [0]


def test_kernels_are_laws_and_what_is_always_known_tells_nothing_when_it_is_not():
    columns = [
        Column("n", np.arange(50, dtype=np.float32)),
        Column("w", None, ("a", "b") * 25),
        Column("m", floats(*[1, 2, 3, np.nan, np.nan] * 10)),
    ]
    features = [make_feature(column) for column in columns]
    cells = np.stack([f.cells(c) for f, c in zip(features, columns, strict=True)], 1)
    telling = (False, False, True)
    kernels = feature_kernels(features, cells, Smoothing(0.2, 0.1), telling)
    np.testing.assert_allclose(kernels.sum(axis=2), 1.0, rtol=1e-5)
    for always_known in (0, 1):
        column = kernels[always_known, :, 0]
        np.testing.assert_allclose(column, column[0])
    assert kernels[2, 0, 0] > 3 * kernels[2, 1, 0]
    silent = feature_kernels(features, cells, Smoothing(0.2, 0.1), (False,) * 3)
    np.testing.assert_allclose(silent[2, :, 0], 0.4, rtol=1e-5)
    nearer = kernels[0, 5]
    assert nearer[5] > nearer[4] > nearer[2]


def test_groups_and_costs_can_be_given_in_several_ways():
    names = ["a", "b", "c"]
    single = measurements(names)
    assert [it.name for it in single] == names and single[0].cost == 1.0
    for groups in ([["a", "c"]], [[0, 2]], {"a + c": ["a", "c"]}):
        both = measurements(names, groups, {"a + c": 5.0})
        assert [it.features for it in both] == [(0, 2), (1,)]
        assert [it.cost for it in both] == [5.0, 1.0]
    labelled = measurements(names, ["blood", "urine", "blood"], [4.0, 1.0])
    assert [(it.name, it.cost) for it in labelled] == [("blood", 4.0), ("b", 1.0)]
    assert [it.cost for it in measurements(names, None, {"b": 2.0})] == [1.0, 2.0, 1.0]
    assert measurements(names, [["a", "b"]], {"b": 3.0})[0].cost == 3.0


@pytest.mark.parametrize(
    ("groups", "costs", "sentence"),
    [
        ([["a", "d"]], None, "groups names 'd', which is no feature"),
        ([["a", "b"], ["b", "c"]], None, "has feature 'b' in both"),
        ([[]], None, "has no features"),
        (["x", "y"], None, "one label for each of the 3 features"),
        (None, {"q": 1.0}, "costs names 'q', which is no feature or group"),
        (None, [1.0, 2.0], "costs must have a number for each of the 3 queries"),
        (None, {"a": 0.0}, "costs must be positive numbers; that of 'a' is 0.0"),
        (None, {"a": "dear"}, "that of 'a' is 'dear'"),
        ([["a", "b"]], {"a": 1.0, "b": 2.0}, "measured together have one"),
    ],
)
def test_groups_and_costs_that_cannot_be_are_refused(groups, costs, sentence):
    with pytest.raises((InvalidParameterError, UnknownNameError)) as caught:
        measurements(["a", "b", "c"], groups, costs)
    assert sentence in str(caught.value)


def test_a_file_gives_columns_and_classes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,kind,who\n31,red,x\n,blue,y\n40.5,,x\n", encoding="utf-8")
    (age, kind), classes = read_csv(path, "who")
    assert classes == ["x", "y", "x"]
    assert age.numbers is not None and np.isnan(age.numbers[1])
    assert kind.words == ("red", "blue", None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; its first line must name"),
        ("a,b\n1\n", "line 2 has 1 value, and the header 2"),
        ("a,a\n1,2\n", "several columns named a"),
        ("a,y\n1,\n", "has no row with a class in column 'y'"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, text, sentence):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_csv(path, "y")
    assert sentence in str(caught.value)


def test_a_column_that_is_not_there_is_named_with_the_closest(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,diagnosis\n1,a\n", encoding="utf-8")
    with pytest.raises(UnknownNameError, match="did you mean 'diagnosis'"):
        read_csv(path, "diagnose")
    with pytest.raises(DataError, match="cannot be read"):
        read_csv(tmp_path / "none.csv", "y")


def test_costs_and_groups_come_from_a_file(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("feature,cost,group\na,2,\nb,5,blood\nc,,blood\n", encoding="utf-8")
    assert read_costs(path) == ({"a": 2.0, "blood": 5.0}, {"blood": ["b", "c"]})
    path.write_text("feature,price tag\na,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="must have the columns feature and cost"):
        read_costs(path)
    path.write_text("feature,cost\na,much\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: the cost of a must be a number"):
        read_costs(path)


def test_columns_that_name_a_case_are_left_out_with_a_sentence():
    number, sizes = floats(*range(3, 33)), floats(*range(0, 60, 2))
    columns = [
        Column("id", number),
        Column("size", sizes),
        Column("seen on", None, tuple(f"2024-01-{1 + i % 28:02d}" for i in range(30))),
        Column("patient", None, tuple(f"p{i}" for i in range(30))),
        Column("color", None, ("red", None, "blue") * 10),
    ]
    kept, sentences = sort_out(columns)
    assert [column.name for column in kept] == ["size", "color"]
    assert [" ".join(it.split()[1:4]) for it in sentences] == [
        "'id' counts the",
        "'seen on' has",
        "'patient' has a",
    ]


def test_a_file_of_semicolons_and_decimal_commas_is_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\ufeffdose;kind;y\n1,5;a;p\n1.200,25;;q\n", encoding="utf-8")
    (dose, kind), classes = read_csv(path, "y")
    assert dose.numbers is not None and classes == ["p", "q"]
    np.testing.assert_array_equal(dose.numbers, floats(1.5, 1200.25))
    assert kind.words == ("a", None)


def test_a_few_words_among_many_numbers_are_not_known(tmp_path):
    path = tmp_path / "table.csv"
    rows = "".join(f"{i / 7:.3f},p\n" for i in range(60))
    path.write_text(f"level,y\nlow,p\n{rows}", encoding="utf-8")
    with pytest.warns(UserWarning, match="1 value that is not, such as 'low'"):
        (level,), _ = read_csv(path, "y")
    assert level.numbers is not None
    assert np.isnan(level.numbers[0]) and not np.any(np.isnan(level.numbers[1:]))
