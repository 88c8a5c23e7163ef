"""Numbers as spreadsheets of different countries write them."""

import pytest

from icpe.core.number_text import EITHER, all_numbers
from icpe.portable.decimals import as_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1234.5", 1234.5),
        ("1,234.5", 1234.5),
        ("1,5", 1.5),
        ("1.234,5", 1234.5),
        ("1.234.567", 1234567.0),
        ("1 234,5", 1234.5),
        ("1\u00a0234", 1234.0),
        ("1\u202f234\u202f567", 1234567.0),
        ("1'234.5", 1234.5),
        ("-0,25", -0.25),
        ("−5", -5.0),
        ("(1,234.50)", -1234.5),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("007", 7.0),
    ],
)
@pytest.mark.parametrize("decimal", [",", ".", EITHER])
def test_most_numbers_have_one_reading(text, decimal, number):
    assert as_number(text, decimal) == number


@pytest.mark.parametrize(
    ("text", "readings"),
    [("1,234", (1.234, 1234, 1.234)), ("1.234", (1234, 1.234, 1.234))],
)
def test_some_are_read_by_the_mark_before_decimals(text, readings):
    assert tuple(as_number(text, it) for it in (",", ".", EITHER)) == readings


@pytest.mark.parametrize(
    "text",
    ["", "x", "inf", "nan", "1_000", "0x1F", "12-3", "1,2,3", "1 23", "()", "1.2.3"],
)
def test_what_is_no_number_is_none(text):
    with pytest.raises(ValueError):
        as_number(text)


@pytest.mark.parametrize(
    ("texts", "decimal", "numbers"),
    [
        (["1.234", "2,5", "7"], ".", [1234, 2.5, 7]),
        (["1,234", "12,5"], ".", [1.234, 12.5]),
        (["1,234", "1,234,567", "980"], EITHER, [1234, 1234567, 980]),
        (["1,234", "950.5"], ",", [1234, 950.5]),
        (["1.234", "12.500", "980"], ",", [1234, 12500, 980]),
        (["1.234", "7"], EITHER, [1.234, 7]),
        (["1.5", "2,5"], ".", [1.5, 2.5]),
        (["(3)", "4"], ".", [-3, 4]),
        (["1", "x"], ".", None),
        (["1.5", "2,5", "1,234"], ".", None),
        (["(1)", "(2)"], ".", None),
    ],
)
def test_a_column_is_written_in_one_way(texts, decimal, numbers):
    assert all_numbers(texts, decimal) == numbers
