"""Words on the command line: what is taken out, what is filled, what is said."""

import dataclasses
from typing import Annotated, Literal

import pytest
import tyro

from icpe.cli.options import Goal, Settings, check_seed
from icpe.cli.parsing import parse, split_settings
from icpe.core.errors import InvalidParameterError


@dataclasses.dataclass(frozen=True)
class Args:
    """Something."""

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="X")]
    goal: tyro.conf.OmitArgPrefixes[Goal] = dataclasses.field(default_factory=Goal)
    episodes: int = 5
    settings: Settings = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Chooses:
    """Needs one thing and offers another."""

    out: Annotated[str, tyro.conf.arg(metavar="FILE")]
    """Where it goes."""
    machine: Literal["big", "small"] | None = None
    """Which one."""


@dataclasses.dataclass(frozen=True)
class Bare:
    """Takes no family."""

    json: bool = False


def complaint(*words):
    with pytest.raises(InvalidParameterError) as caught:
        parse(Args, words, prog="icpe test")
    return str(caught.value)


def test_settings_are_taken_out_wherever_they_stand():
    words = "a --family.num-arms 4 b --family.min_gap=-0.5 --json --family.fast"
    rest, settings = split_settings(words.split())
    assert rest == ["a", "b", "--json"]
    assert settings == {"num_arms": "4", "min_gap": "-0.5", "fast": "true"}


def test_a_negative_value_belongs_to_its_setting():
    assert split_settings(["--family.x", "-1"]) == ([], {"x": "-1"})


def test_words_fill_the_dataclass():
    words = ["a", "b", "--error-prob", "0.1", "--max_queries=7", "--family.size", "3"]
    args = parse(Args, words, prog="icpe test")
    assert args == Args(
        ("a", "b"), Goal(error_prob=0.1, max_queries=7), settings={"size": "3"}
    )


def test_help_is_printed_and_gives_no_arguments(capsys):
    assert parse(Args, ["--help"], prog="icpe test") is None
    assert "--error-prob P" in capsys.readouterr().out


def test_a_value_of_the_wrong_type_is_named():
    text = complaint("a", "--error-prob", "small")
    assert text == "--error-prob cannot be 'small'; see icpe test --help."


def test_a_misspelled_option_is_named_with_the_one_that_was_meant():
    text = complaint("a", "--eror-prob", "0.1")
    assert text == (
        "Unrecognized options: --eror-prob, 0.1; did you mean --error-prob? "
        "See icpe test --help."
    )


def test_a_missing_value_is_named():
    assert complaint("a", "--episodes").startswith(
        "Missing value for argument '--episodes'"
    )


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("--machine big", "--out FILE is missing; see icpe test --help."),
        (
            "--out x --machine tiny",
            "--machine 'tiny' is not one of big, small; see icpe test --help.",
        ),
    ],
)
def test_what_is_missing_or_no_choice_is_named(words, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        parse(Chooses, words.split(), prog="icpe test")
    assert str(caught.value) == sentence


def test_family_settings_are_refused_where_there_is_no_family():
    with pytest.raises(InvalidParameterError, match=r"--family\.size has no meaning"):
        parse(Bare, ["--family.size", "3"], prog="icpe test")


@dataclasses.dataclass(frozen=True)
class Trains:
    """Takes settings of two kinds."""

    settings: Settings = dataclasses.field(default_factory=dict)
    train_settings: Settings = dataclasses.field(default_factory=dict)


def test_settings_of_the_training_are_kept_apart_from_those_of_the_family():
    words = ["--train.batch-size", "8", "--family.size=3", "--train.bfloat16"]
    assert parse(Trains, words, prog="icpe test") == Trains(
        {"size": "3"}, {"batch_size": "8", "bfloat16": "true"}
    )
    with pytest.raises(InvalidParameterError, match=r"--train\.x has no meaning"):
        parse(Args, ["--train.x", "3"], prog="icpe test")


def test_seeds_are_32_bit_unsigned_numbers():
    check_seed(0)
    check_seed(2**32 - 1)
    for seed in (-1, 2**32):
        with pytest.raises(InvalidParameterError, match=f"got {seed}"):
            check_seed(seed)
