"""Files of tables as people have them: units, gaps, spellings, names, giveaways."""

import warnings

import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.integrations.tables.encoding import make_feature
from icpe.integrations.tables.fit import fit_table
from icpe.integrations.tables.giveaways import share_told, warn_of_giveaways
from icpe.integrations.tables.odd_columns import sort_out
from icpe.integrations.tables.rare import many_words, warn_of_rare_classes
from icpe.integrations.tables.reading import Column, read_csv, read_words


@pytest.fixture
def read(tmp_path):
    """Reads one column, given by its cells; returns it with what was said."""

    def reading(*cells, target=("p", "q"), delimiter=";"):
        path = tmp_path / "table.csv"
        rows = (f"{it}{delimiter}{target[i % 2]}" for i, it in enumerate(cells))
        path.write_text("\n".join((f"x{delimiter}y", *rows)), encoding="utf-8")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            (column,), classes = read_csv(path, "y")
        return column, classes, [str(it.message) for it in said]

    return reading


@pytest.mark.parametrize(
    ("cells", "unit", "values"),
    [
        (["5,40 bar", "4,1 bar", ""], "bar", [5.4, 4.1, np.nan]),
        (["-3 °C", "12 °C"], "°C", [-3, 12]),
        (["€ 1.200,50", "€ 3"], "€", [1200.5, 3]),
        (["$5", "$7"], "$", [5, 7]),
        (["10 %", "20%"], "%", [10, 20]),
    ],
)
def test_numbers_with_one_unit_are_numbers(read, cells, unit, values):
    column, _, said = read(*cells)
    assert column.unit == unit and said == []
    np.testing.assert_allclose(column.numbers, np.float32(values))
    assert column.rows(np.array([0])).unit == unit
    assert make_feature(column).unit == unit


def test_numbers_without_the_unit_are_taken_to_be_in_it_and_that_is_said(read):
    column, _, said = read("5 bar", "4", "3 bar")
    assert column.unit == "bar" and column.numbers is not None
    assert said == [
        "Column 'x' has 1 number without the unit bar; it is taken to be in it."
    ]


def test_a_few_words_among_units_are_not_known_and_many_make_words(read):
    many = [f"{i / 7:.2f} bar" for i in range(60)]
    column, _, (said,) = read("broken", "5400 mbar", *many)
    assert column.numbers is not None and np.isnan(column.numbers[:2]).all()
    assert "numbers in bar, and 2 values that are not, such as '5400 mbar'" in said
    column, _, (said,) = read(*["broken"] * 30, *many)
    assert column.numbers is None and "so all are taken as words" in said
    column, _, said = read("5 kg", "7 lb", "red", "blue", "green")
    assert column.numbers is None and said == []


def test_limits_among_numbers_are_numbers_next_to_them(read):
    cells = [f"{1 + i / 7:.2f}".replace(".", ",") for i in range(9)]
    column, _, (said,) = read("<0,5", *cells, "> 100", "<0,5")
    assert column.numbers is not None
    assert 0.49 < column.numbers[0] < 0.5 < 100 < column.numbers[-2] < 101
    assert "3 limits such as '<0,5', taken as a number just below 0,5" in said
    column, _, _ = read("0", "1", "2", ">2", "0", "1", "2", "2")
    assert make_feature(column).num_cells == 4
    for groups in (["<18", "18-30", ">65"], ["<5", ">5", "1", "2"]):
        column, _, said = read(*groups)
        assert column.words == tuple(groups) and said == []


def test_thousands_are_told_from_decimals_by_the_rest_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b;y\n1.234;0,5;p\n980;1,25;q\n", encoding="utf-8")
    (stock, rate), _ = read_csv(path, "y")
    assert stock.numbers is not None and rate.numbers is not None
    assert stock.numbers.tolist() == [1234, 980] and rate.numbers.tolist() == [
        0.5,
        1.25,
    ]


def test_what_no_number_of_a_file_decides_is_said(read):
    column, _, (said,) = read("1,234", "5,678")
    assert column.numbers is not None and column.numbers.tolist() == [1.234, 5.678]
    assert "1,234 is taken as 1.234; if it is 1234" in said
    column, _, (said,) = read("1.5", "2,5", "1,234")
    assert column.numbers is None and "read in two ways, such as '1,234'" in said


def test_rows_without_a_class_are_left_out_and_counted(tmp_path):
    path = tmp_path / "table.csv"
    text = "who;x;y\na;1;p\nb;2;\nc;3;unknown\nd;4;q\n"
    path.write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match="2 of 4 rows have no class and are left out"):
        columns, classes = read_csv(path, "y")
    assert classes == ["p", "q"] and [len(it) for it in columns] == [2, 2]
    with pytest.warns(UserWarning, match="'y' is empty or 'unknown', first in line 3"):
        assert read_words(path, "y", "who") == ["a", "d"]


def test_errors_of_spreadsheets_are_not_known(read):
    column, _, _ = read("#N/A", "P03", "#DIV/0!", "P07")
    assert column.words == (None, "P03", None, "P07")
    column, _, _ = read("1,5", "#DIV/0!", ".", "n.d.", "2")
    assert column.numbers is not None
    assert np.isnan(column.numbers).tolist() == [False, True, True, True, False]


def test_ordinals_are_words_without_a_word_about_it(read):
    column, _, said = read("1st", "1st", "2nd", "3rd", "1st")
    assert column.words[0] == "1st" and said == []


def test_numbers_of_rows_are_found_beyond_single_precision(read):
    column, _, _ = read(*(100_000_000 + i for i in range(40)))
    kept, (said,) = sort_out([column])
    assert kept == [] and "counts the rows" in said


@pytest.mark.parametrize("last, is_count", [(702, True), (5000, True), (10**6, False)])
def test_numbers_of_rows_may_have_gaps_and_any_order(last, is_count):
    random = np.random.default_rng(0)
    some = random.choice(np.arange(1.0, last + 1), 690, replace=False)
    some[3] = np.nan
    _, sentences = sort_out([Column("case no", some)])
    assert [" ".join(it.split()[3:6]) for it in sentences] == (
        ["counts the rows,"] * is_count
    )


def test_measurements_in_whole_numbers_stay():
    random = np.random.default_rng(0)
    ages = random.integers(18, 95, 700).astype(float)
    pressure = np.unique(random.integers(90, 180, 25)).astype(float)
    units = np.unique(random.integers(0, 100_000, 300)).astype(float)
    columns = [Column("age", ages), Column("mmHg", pressure), Column("units", units)]
    assert sort_out(columns) == (columns, [])


def test_codes_stay_words(read):
    for cells in (["K01", "K02"], ["E07", "E12"], ["1-2", "3-4"], ["12:30", "9:15"]):
        column, _, said = read(*cells)
        assert column.numbers is None and said == []


def test_none_and_a_dash_are_words_in_a_column_of_words(read):
    column, _, (said,) = read("none", "hum", "-", "NA", "?", "", "NA")
    assert column.words == ("none", "hum", "-", None, None, None, None)
    assert said.startswith("Read as not known, beside empty cells: 'NA' (2), '?' (1).")


def test_what_people_write_for_not_known_is_no_answer_in_a_column_of_words(read):
    told = ("don't know", "Don\u2019t  Know", "unbekannt", "keine Angabe", "k. A.")
    column, _, (said,) = read("hum", *told, "not measured", "n.d.", "not done")
    assert column.words == ("hum", *[None] * 6, "n.d.", "not done")
    assert "'unbekannt' (1)" in said


def test_a_dash_is_no_number_and_none_among_few_numbers_makes_words(read):
    column, _, (said,) = read("5", "-", "k.A.", "7")
    assert column.numbers is not None and np.isnan(column.numbers[1:3]).all()
    assert "'k.A.' (1), '-' (1)" in said
    column, _, _ = read("none", "1", "2", "none")
    assert column.words == ("none", "1", "2", "none")


def test_none_can_be_a_class(read):
    _, classes, _ = read("1", "2", target=("none", "flu"))
    assert classes == ["none", "flu"]


def test_values_that_differ_in_capitals_or_blanks_are_one(read):
    target = ("Leak", "leak")
    column, classes, said = read("yes", "no", "Yes", "yes", "a  b", target=target)
    assert column.words == ("yes", "no", "yes", "yes", "a  b")
    assert classes == ["Leak"] * 5  # the more common one
    assert "Column 'x': 'yes' and 'Yes' differ in capitals or blanks alone" in said[0]
    assert "Column 'y': 'Leak' and 'leak'" in said[1]


def told(words, labels):
    column = Column("part", None, tuple(words))
    feature = make_feature(column)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_giveaways([feature], feature.cells(column)[:, None], np.array(labels))
    return [str(it.message) for it in said]


def test_a_word_that_gives_the_class_away_where_it_is_known_is_warned_of():
    labels = [0, 1] * 50
    words = [None if i < 20 else "ab"[label] for i, label in enumerate(labels)]
    words[30] = "b"
    (said,) = told(words, labels)
    assert "Column 'part' alone tells the class of 98.8 % of the 80 rows where" in said
    assert "--ignore 'part'" in said
    words[31:60] = ["a", "b", "b"] * 9 + ["a", "b"]
    assert told(words, labels) == []


def test_unbalanced_classes_and_words_of_one_row_are_no_giveaways():
    assert told(["a", "b"] * 50, [0] * 95 + [1] * 5) == []
    assert told([f"w{i}" for i in range(15)] * 2, [0] * 15 + [1] * 15) == []
    share, most, number = share_told(np.arange(1, 41), np.array([0, 1] * 20))
    assert (share, most, number) == (0.0, 0.5, 40)


def test_many_rare_words_get_a_notice_and_common_ones_none():
    random = np.random.default_rng(0)
    customers = tuple(f"K{i:03d}" for i in random.integers(0, 300, 600))
    countries = tuple(f"c{i}" for i in np.minimum(random.geometric(0.2, 600), 60))
    (said,) = many_words([Column("who", None, customers), Column("c", None, countries)])
    assert "Column 'who' has" in said and "--ignore 'who'" in said
    assert many_words([Column("n", np.arange(50, dtype=np.float32))]) == []


def test_a_class_of_few_rows_is_said_to_be_never_named():
    labels = np.array([0] * 100 + [1] * 100 + [2] * 3)
    with pytest.warns(UserWarning, match="Class 'c' has 3 of 203 rows") as said:
        warn_of_rare_classes(labels, "abc")
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_rare_classes(np.array([0] * 5 + [1] * 4), "ab")


def test_too_many_classes_are_those_of_the_target():
    numbers = Column("x", np.arange(40, dtype=np.float32))
    with pytest.raises(InvalidParameterError, match=r"The target has 40 different"):
        fit_table([numbers], np.arange(40), [f"c{i}" for i in range(40)])
