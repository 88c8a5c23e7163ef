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
    assert text == "--error-prob must be a number; got 'small'; see icpe test --help."


def test_a_misspelled_option_is_named_with_the_one_that_was_meant():
    text = complaint("a", "--eror-prob", "0.1")
    assert text == (
        "There is no option --eror-prob; did you mean --error-prob? "
        "See icpe test --help."
    )


def test_a_missing_value_is_named():
    text = complaint("a", "--episodes", "--error-prob", "0.1")
    assert text == "--episodes lacks its value EPISODES; see icpe test --help."


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("--machine big", "--out FILE is missing; see icpe test --help."),
        (
            "--out x --machine tiny",
            "--machine must be one of big, small; got 'tiny'; see icpe test --help.",
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


@dataclasses.dataclass(frozen=True)
class Places:
    """Words without names, and several values."""

    action: Annotated[
        tyro.conf.Positional[Literal["run", "list"]], tyro.conf.arg(metavar="run|list")
    ]
    name: Annotated[
        tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[NAME]")
    ] = None
    means: tuple[float, ...] = ()
    json: bool = False


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("", "One of run, list is missing"),
        ("walk", "'walk' must be one of run, list"),
        ("run a b", "'b' is one word too many"),
        ("run --json=yes", "--json takes no value; got 'yes'"),
        ("run --means 1 x", "--means must be a number; got 'x'"),
        ("run --means", "--means lacks its value MEANS"),
        ("run --what", "There is no option --what"),
    ],
)
def test_each_complaint_is_a_sentence_of_ours(words, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        parse(Places, words.split(), prog="icpe test")
    assert str(caught.value) == f"{sentence}; see icpe test --help."


def test_values_may_be_negative_and_several():
    found = parse(
        Places, ["run", "--means", "-1", "2e-3", ".5", "--json"], prog="icpe test"
    )
    assert found == Places("run", None, (-1.0, 2e-3, 0.5), True)
    found = parse(Places, ["list", "here", "--means=1"], prog="icpe test")
    assert found == Places("list", "here", (1.0,))


def test_what_tyro_alone_refuses_is_a_sentence_too():
    @dataclasses.dataclass(frozen=True)
    class Odd:
        """A type that has no check of ours."""

        value: dict[str, int] = dataclasses.field(default_factory=dict)

    with pytest.raises(InvalidParameterError, match="do not fit; see icpe test --help"):
        parse(Odd, ["--value", "a", "b", "c"], prog="icpe test")
