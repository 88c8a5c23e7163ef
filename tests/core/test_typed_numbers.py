"""Numbers as people write them, with units and decimal commas."""

import numpy as np
import pytest

from icpe.portable.numbers import beyond, split_limit, split_unit, without_unit
from icpe.portable.reading import typed_number


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5,40 bar", ("5,40", "bar")),
        ("-12.5°C", ("-12.5", "°C")),
        ("−3 °C", ("-3", "°C")),
        ("1.234,50 €", ("1.234,50", "€")),
        ("$1,234.50", ("1,234.50", "$")),
        ("EUR 12", ("12", "EUR")),
        ("37 %", ("37", "%")),
        ("120 mg/dl", ("120", "mg/dl")),
        ("3 m2", ("3", "m2")),
        ("1 234,5 kg", ("1234,5", "kg")),
    ],
)
def test_a_number_is_told_from_its_unit(text, found):
    assert split_unit(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "12",
        "1E3",
        "2,5e2",
        "K0001",
        "E07",
        "> 90 °C",
        "50-60",
        "12:30",
        "SR-817",
        "bar",
        "",
        "?",
    ],
)
def test_codes_ranges_and_bare_numbers_have_none(text):
    assert split_unit(text) is None


@pytest.mark.parametrize(
    ("text", "unit", "bare"),
    [
        ("5,4 bar", "bar", "5,4"),
        ("5.4bar ", "bar", "5.4"),
        ("5.4 BAR", "bar", "5.4"),
        ("5.4", "bar", "5.4"),
        ("€ 5", "€", "5"),
        ("5 €", "€", "5"),
        ("5400 mbar", "bar", "5400 m"),
        ("5 MW", "mW", "5 MW"),
        ("8.8 A", "", "8.8 A"),
    ],
)
def test_a_unit_is_taken_off_what_was_typed(text, unit, bare):
    assert without_unit(text, unit) == bare


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("8.8", 8.8), ("8,8", 8.8), ("0,125", 0.125), ("1.234,5", 1234.5)),
        *(("−4", -4.0), ("–4", -4.0), ("1 234,5", 1234.5), ("12\u00a0345", 12345.0)),
    ],
)
def test_decimal_commas_and_points_are_taken(text, number):
    assert typed_number(text) == number


@pytest.mark.parametrize("text", ["1,234", "5400 m", "5 MW", "warm", ""])
def test_what_is_no_number_or_may_be_two_is_refused(text):
    with pytest.raises(ValueError):
        typed_number(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<0.5", ("0.5", -1)),
        ("> 1 000 mg", ("1000 mg", 1)),
        ("≥5", ("5", 0)),
        ("<= 5", ("5", 0)),
        ("4+", ("4", 0)),
        ("5", None),
        ("<", None),
        ("18-30", None),
        ("C++", None),
    ],
)
def test_a_limit_is_a_number_and_a_side(text, found):
    assert split_limit(text) == found


def test_a_value_beyond_a_limit_is_told_from_the_limit_in_single_precision():
    for limit in (0.0, 0.5, 1.01, 100.0, 12345.6, -3.0):
        below, at, above = (np.float32(beyond(limit, side)) for side in (-1, 0, 1))
        assert below < np.float32((below + at) / 2) < at < above
