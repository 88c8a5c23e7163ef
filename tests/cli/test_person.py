"""What a person may type, and what is said when it makes no sense."""

import dataclasses

import pytest

from icpe.cli.person import Person, PersonLeft, check_person_can_play, parse_outcome
from icpe.core.errors import InvalidOutcomeError, UnsupportedError
from icpe.families import BestOfK, BinarySearch, GaussianBandit, TaskSpec, make
from support.toy_tasks import Corridor, Lockers

FAMILY = BinarySearch(size=8)
SEARCH = FAMILY.spec
BANDIT = GaussianBandit(num_arms=3).spec
PAIR = TaskSpec(num_queries=1, num_hypotheses=2, outcome_size=2, horizon=1)


@pytest.mark.parametrize(
    "line, spec, outcome",
    [
        ("lower", SEARCH, (-1.0,)),
        (" HIT ", SEARCH, (0.0,)),
        ("hig", SEARCH, (1.0,)),
        ("-1", SEARCH, (-1.0,)),
        ("1.25", BANDIT, (1.25,)),
        ("-3e-1", BANDIT, (-0.3,)),
        ("1 2.5", PAIR, (1.0, 2.5)),
        ("1, 2.5", PAIR, (1.0, 2.5)),
    ],
)
def test_words_their_beginnings_and_numbers_are_understood(line, spec, outcome):
    assert parse_outcome(line, spec) == outcome


@pytest.mark.parametrize(
    "line, spec, part",
    [
        ("", SEARCH, "Please answer lower, hit, higher"),
        ("larger", SEARCH, "got 'larger'"),
        ("0.5", SEARCH, "Please answer lower"),
        ("h", SEARCH, "'h' may mean hit or higher"),
        ("", BANDIT, "Please type a number"),
        ("1 2", BANDIT, "Please type a number"),
        ("nan", BANDIT, "Please type a number"),
        ("1", PAIR, "Please type 2 numbers with spaces between"),
    ],
)
def test_anything_else_is_refused_with_what_can_be_typed(line, spec, part):
    with pytest.raises(InvalidOutcomeError, match=part):
        parse_outcome(line, spec)


def test_a_question_is_put_again_until_it_is_answered():
    lines, said = iter(["what?", "higher"]), []
    person = Person(FAMILY, read=lambda prompt: next(lines), write=said.append)
    person.begin()
    result = person.answer(3, 0)
    assert result.outcome.tolist() == [1.0]
    assert said[0] == said[2] == "1. Is your number 3? Answer lower, hit or higher."
    assert "got 'what?'" in said[1]


def leave_by_end_of_input(prompt):
    raise EOFError


@pytest.mark.parametrize("read", [lambda prompt: "Quit", leave_by_end_of_input])
def test_a_person_may_leave(read):
    person = Person(FAMILY, read=read, write=lambda line: None)
    person.begin()
    with pytest.raises(PersonLeft):
        person.answer(3, 0)


@pytest.mark.parametrize(
    "family, part",
    [(Lockers(), "which queries are allowed"), (Corridor(), "end its episodes")],
    ids=["masks", "endings"],
)
def test_families_that_need_the_simulator_are_refused(family, part):
    with pytest.raises(UnsupportedError, match=part):
        check_person_can_play(family, "this")


def test_families_without_secrets_can_be_played():
    check_person_can_play(FAMILY, "this")


def test_a_person_says_what_is_revealed_and_masks_follow_from_it():
    family = GaussianBandit(num_arms=4, vary_arms=True)
    check_person_can_play(family, "this")
    lines, said = iter(["0 3", "1.5 0"]), []
    person = Person(family, read=lambda prompt: next(lines), write=said.append)
    first = person.begin()
    assert said == ["Before the first query, type reward, number of arms."]
    assert first.query_mask.tolist() == [True, True, True, False]
    assert person.answer(1, 0).query_mask.tolist() == [True, True, True, False]


def test_where_words_are_numbers_a_number_is_one_of_them():
    """Neither the beginning of one nor its place, which would be another state."""
    spec = dataclasses.replace(
        make("network").spec, query_outcomes=(("0.5", "1.5"), ("2", "1"), ("x", "y"))
    )
    assert parse_outcome("1.5", spec, 0) == parse_outcome("1,50", spec, 0) == (1.0,)
    assert parse_outcome("1", spec, 1) == (1.0,)
    assert parse_outcome("1", spec, 2) == (1.0,)  # the family's own number
    for line in ("1", "0", "2"):
        with pytest.raises(InvalidOutcomeError, match=r"answer 0.5, 1.5, or quit"):
            parse_outcome(line, spec, 0)


def test_settings_in_units_of_ones_own_are_not_asked_for_in_the_terminal():
    with pytest.raises(UnsupportedError, match="use icpe serve --open"):
        check_person_can_play(BestOfK(), "best-of-k")
