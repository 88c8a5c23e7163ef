import math

import numpy as np
import pytest

import icpe
from icpe.core.errors import InvalidOutcomeError, InvalidParameterError
from icpe.core.units import Measured, Reading, with_names
from icpe.families import BestOfK, BinarySearch

FAMILY = BestOfK()


def reading(**given):
    return FAMILY.any_units().reading(icpe.Units("%", **given), 4)


def test_what_matters_is_one_and_the_noise_follows():
    found = reading(noise=1.5, matters=1.0)
    assert found.scale == 1.0
    assert found.first_outcome == (0.0, 4.0, 1.5)
    assert found.outcome(72.0) == (0.0, 0.0, 0.0)
    assert found.outcome(73.25, first=72.0) == (1.25, 0.0, 0.0)


def test_an_unknown_noise_is_revealed_as_0():
    assert reading(matters=2.0).first_outcome == (0.0, 4.0, 0.0)


def test_a_tiny_noise_makes_a_larger_difference_the_unit():
    found = reading(noise=0.01, matters=1.0)
    assert found.scale == pytest.approx(0.04)
    assert found.first_outcome == (0.0, 4.0, 0.25)


@pytest.mark.parametrize("factor", [1e-9, 0.01, 25.4, 9 / 5, 1e12])
@pytest.mark.parametrize("offset", [0.0, 32.0, -273.15, 1e5])
def test_units_and_offsets_leave_no_trace(factor, offset):
    numbers = np.random.default_rng(1).normal(72, 3, 500).round(2)
    plain = reading(noise=1.5, matters=1.0)
    other = reading(noise=1.5 * factor, matters=1.0 * factor)
    assert other.first_outcome == plain.first_outcome
    moved = (numbers + offset) * factor
    for value, change in zip(numbers, moved, strict=True):
        assert other.outcome(change, moved[0]) == plain.outcome(value, numbers[0])


def test_decimals_that_fall_between_two_steps_of_the_grid_do_not_flicker():
    found = Reading(
        icpe.Units("s", matters=2.048), 2.048, (0.0,), 4, 1024.0, (0.25, 2.0)
    )
    for level in np.linspace(0, 90, 31).round(3):
        assert found.outcome(level + 0.001, level) == (1 / 1024,)


@pytest.mark.parametrize(
    "told", [math.nan, math.inf, "warm", "1,234", None, [1, 2], True, 1j]
)
def test_what_is_no_number_is_refused(told):
    with pytest.raises(InvalidOutcomeError, match="one finite number in %; got"):
        reading(noise=1.5, matters=1.0).outcome(told)


@pytest.mark.parametrize("told", [72, np.float32(72), np.array(72.0), [72.0]])
def test_numbers_come_in_many_forms(told):
    assert reading(noise=1.5, matters=1.0).number(told) == 72.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise": 0.0, "matters": 1}, "noise must be a positive finite number; got 0"),
        ({"noise": math.nan, "matters": 1}, "noise must be a positive"),
        ({"matters": -1.0}, "matters must be a positive"),
        ({"matters": True}, "matters must be a number in the user's unit; got True"),
    ],
)
def test_impossible_units(given, words):
    with pytest.raises(InvalidParameterError, match=words):
        icpe.Units(**given)


def test_what_matters_must_be_said_at_once():
    with pytest.raises(InvalidParameterError, match="matters is missing from units"):
        icpe.Units("ms", noise=12)


def test_questions_and_what_is_known_are_in_the_users_units():
    units = icpe.Units("ms", noise=12, matters=8, smaller_is_better=True)
    found = FAMILY.any_units().reading(units, 4)
    assert found.question == "Try {query}: what is the outcome, in ms?"
    assert found.known == (
        "4 settings, in ms, smaller is better, noise 12 ms, "
        "a difference of 8 ms matters"
    )
    bare = FAMILY.any_units().reading(icpe.Units(matters=0.5), 2)
    assert bare.question == "Try {query}: what is the outcome?"
    assert bare.known == (
        "2 settings, larger is better, noise not known, a difference of 0.5 matters"
    )


@pytest.mark.parametrize(
    ("first", "smaller", "shown"),
    [
        (200.0, True, "184 to 240 ms"),
        (200.0, False, "160 to 216 ms"),
        (10_000.0, False, "9960 to 10016 ms"),
        (1_000_000.25, True, "999984.2 to 1000040 ms"),
    ],
)
def test_ranges_are_told_in_the_users_units(first, smaller, shown):
    units = icpe.Units("ms", noise=12, matters=8, smaller_is_better=smaller)
    found = Measured(FAMILY.any_units().reading(units, 4), 1e9, first)
    assert str(found) == "1000000000 ms"
    assert found.between(-5.0, 2.0) == shown


def test_too_much_noise_is_refused_with_the_repeats_that_help():
    with pytest.raises(InvalidParameterError, match="mean of 4 repeats") as caught:
        reading(noise=4.0, matters=1.0)
    assert "at most 2 times matters" in str(caught.value)
    assert reading(noise=4.0 / math.sqrt(4), matters=1.0).first_outcome[2] == 2.0


@pytest.mark.parametrize("number", [1, 17])
def test_too_few_and_too_many_settings(number):
    with pytest.raises(InvalidParameterError, match="must be between 2 and 16"):
        FAMILY.any_units().reading(icpe.Units("%", matters=1.0), number)


def test_other_families_have_units_of_their_own():
    assert BinarySearch().any_units() is None


def test_names_are_the_users():
    named = with_names(FAMILY.spec, ["cold", "warm", "setting 4"])
    assert named.query_names[:4] == ("cold", "warm", "setting 4", "(setting 4)")
    assert named.hypothesis_name(1) == "warm"
    assert named.numbers() == FAMILY.spec.numbers()


@pytest.mark.parametrize(
    "names", ["abc", ["a"], ["a", "a"], ["a", ""], ["a", 2], ["a"] * 17]
)
def test_names_must_be_different_words(names):
    with pytest.raises(InvalidParameterError, match="2 to 16 different names"):
        with_names(FAMILY.spec, names)
