"""Family parameters from words."""

from typing import Literal

import pytest

from icpe.cli.families import build_family
from icpe.cli.values import convert
from icpe.core.errors import InvalidParameterError, UnknownNameError
from icpe.families import GaussianBandit


@pytest.mark.parametrize(
    "word, expected, value",
    [
        ("4", int, 4),
        ("-4", int, -4),
        ("4", float, 4),
        ("1e-3", float, 1e-3),
        ("true", bool, True),
        ("False", bool, False),
        ("4", str, "4"),
        ("ring", Literal["ring", "star"], "ring"),
        ("null", int | None, None),
        ("7", int | None, 7),
        ("[1, 2]", tuple[int, ...], (1, 2)),
        ("[[0.5, 1], [0, 1]]", tuple[tuple[float, ...], ...], ((0.5, 1), (0, 1))),
    ],
)
def test_a_word_becomes_a_value_of_the_type(word, expected, value):
    converted = convert("--family.x", word, expected)
    assert converted == value
    assert type(converted) is type(value)


def test_an_explorer_of_the_zoo_is_told_by_its_family(icpe):
    called = icpe("bounds gaussian-bandit-4")
    assert called.status == 2
    assert "mean 'gaussian-bandit' with --family.num-arms 4" in called.err


@pytest.mark.parametrize(
    "word, expected, wanted",
    [
        ("many", int, "a whole number"),
        ("1.5", int, "a whole number"),
        ("true", int, "a whole number"),
        ("x", float, "a number"),
        ("true", float, "a number"),
        ("4", bool, "true or false"),
        ("sun", Literal["ring", "star"], "one of ring, star"),
        ("1", tuple[int, ...], "a list such as"),
        ('["a"]', tuple[int, ...], "a list such as"),
        ("x", int | None, "a whole number or null"),
    ],
)
def test_a_word_of_another_type_is_refused(word, expected, wanted):
    with pytest.raises(InvalidParameterError, match=wanted) as caught:
        convert("--family.x", word, expected)
    assert str(caught.value).startswith("--family.x must be")


def test_a_family_is_built_from_words():
    family = build_family("gaussian-bandit", {"num_arms": "4", "noise": "1"})
    assert family == GaussianBandit(num_arms=4, noise=1)


def test_an_unknown_parameter_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="num_arms, min_gap, noise"):
        build_family("gaussian-bandit", {"arms": "4"})


def test_a_list_of_lists_is_read():
    """A bare tuple has entries of any type, which is no class to hold them against."""
    assert convert("--family.x", "[[0.5, 0.5], [0, 1]]", tuple) == ((0.5, 0.5), (0, 1))
