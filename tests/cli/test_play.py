"""Episodes in the terminal, simulated and with a scripted person."""

import builtins
import re

import numpy as np
import pytest

from icpe.cli.terminal import bar, skyline
from icpe.cli.view import belief_lines
from icpe.families import BinarySearch, GaussianBandit

SEARCH = "play exact-binary-search --family binary-search --family.size 8"


@pytest.fixture
def person(monkeypatch):
    """Lets a script answer; the script may be a function of the prompt's count."""

    def enter(*lines):
        script = iter(lines)

        def answer(prompt=""):
            try:
                line = next(script)
            except StopIteration:
                raise EOFError from None
            if isinstance(line, BaseException):
                raise line
            return line

        monkeypatch.setattr(builtins, "input", answer)

    return enter


def test_an_episode_shows_queries_outcomes_and_the_answer(icpe):
    called = icpe(SEARCH)
    assert called.status == 0
    assert "1. query" in called.out
    assert "the explorer decided to stop" in called.out
    assert "which is right" in called.out
    assert "█" in called.out


def test_an_episode_as_json_is_whole(icpe):
    played = icpe(f"{SEARCH} --seed 4 --episode 2 --json").json
    assert played["correct"]
    assert played["recommendation"] == played["hypothesis"]
    assert len(played["queries"]) == len(played["outcomes"]) <= 3
    assert played["stop_reason"] == "explorer"
    signs = [np.sign(played["hypothesis"] - query) for query in played["queries"]]
    assert played["outcomes"] == [[sign] for sign in signs]


@pytest.mark.slow
def test_a_budget_is_played_to_its_end(icpe):
    called = icpe(
        "play uniform --family deterministic-bandit --family.num-arms 3 --budget 2"
    )
    assert called.status == 0
    assert "Stopped after 2 queries: the budget of queries was used up." in called.out


def test_a_person_who_thinks_of_7_is_found_out(icpe, person):
    person("higher", "higher", "higher", "higher")
    called = icpe(f"{SEARCH} --human")
    assert called.status == 0
    assert "The answer: 7." in called.out
    assert "Keep one of 0 .. 7 in mind" in called.out


def test_a_person_who_hits_is_found_out_at_once(icpe, person):
    person("hit")
    called = icpe(f"{SEARCH} --human")
    assert "Stopped after 1 query" in called.out


def test_a_person_who_mistypes_is_asked_again(icpe, person):
    person("upwards", "higher", "higher", "higher", "higher")
    called = icpe(f"{SEARCH} --human")
    assert called.status == 0
    assert "Please answer lower, hit, higher" in called.out
    assert "The answer: 7." in called.out


@pytest.mark.parametrize("leaving", ["quit", KeyboardInterrupt()])
def test_a_person_may_leave_at_any_time(icpe, person, leaving):
    person("higher", leaving)
    called = icpe(f"{SEARCH} --human")
    assert called.status == 0
    assert "Goodbye." in called.out
    assert called.err == ""


def test_input_that_ends_too_early_is_no_success(icpe, person):
    person("higher")
    called = icpe(f"{SEARCH} --human")
    assert called.status == 1
    assert (
        called.err
        == "icpe: The input ended after 1 answer, before there was a result.\n"
    )
    assert "Goodbye" not in called.out


def test_a_person_who_contradicts_himself_is_told_so(icpe, person):
    # Of 0 and 1 the first guess is 0, and nothing is lower.
    person("lower")
    called = icpe(
        "play exact-binary-search --family binary-search --family.size 2 --human"
    )
    assert called.status == 0
    assert "Is your number 0?" in called.out
    assert "contradict each other" in called.out
    assert "The answer" not in called.out


def test_a_person_answers_for_a_case_and_sees_what_is_sought(icpe, person, tmp_path):
    table = tmp_path / "tests.csv"
    rows = ["My tests", "hypothesis,query,outcome,probability"]
    for name, share in {"flu": 0.9, "[cold]": 0.2, "hay fever": 0.1}.items():
        rows += [f"{name},fever,yes,{share}", f"{name},fever,no,{round(1 - share, 3)}"]
    table.write_text("\n".join(rows))
    person("quit")
    words = f"play information-gain --likelihoods {table} --budget 1 --human"
    called = icpe(words)
    assert called.status == 0, called.err
    shown = " ".join(called.out.split())
    assert "Answer for one case; what is sought is one of flu, [cold], hay" in shown
    assert "in mind" not in shown
    assert called.err.startswith(f"icpe: {table}: the header is line 2; what stands")


def test_a_person_can_give_rewards(icpe, person):
    person("0.25", "a lot", "0.75", "0.5")
    called = icpe(
        "play top-two --family deterministic-bandit --family.num-arms 3 --budget 3 "
        "--human"
    )
    assert called.status == 0
    assert "Pull arm" in called.out
    assert "Please type a number" in called.out
    # The second arm that was tried has the largest reward.
    tried = re.findall(r"Pull (arm \d)", called.out)
    assert f"The answer: {tried[1]}." in called.out


@pytest.mark.parametrize(
    "fraction, text",
    [(0.0, "    "), (1.0, "████"), (0.5, "██  "), (0.125, "▌   "), (2.0, "████")],
)
def test_a_bar_is_as_long_as_its_fraction(fraction, text):
    assert bar(fraction, 4) == text


def test_the_most_probable_hypotheses_are_shown_and_the_rest_is_summed():
    belief = np.array([0.05, 0.3, 0.1, 0.25, 0.0, 0.1, 0.1, 0.06, 0.04])
    picture, *lines = belief_lines(belief, GaussianBandit(num_arms=9).spec)
    assert "▂█▃▇·▃▃▂▂" in picture
    assert [line.split()[1] for line in lines[:5]] == ["1", "2", "3", "5", "6"]
    assert "3 others share 0.150" in lines[5]


def test_few_hypotheses_are_all_shown():
    belief = np.array([0.0, 0.96, 0.04])
    lines = belief_lines(belief, GaussianBandit(num_arms=3).spec)
    assert [line.split()[1] for line in lines] == ["0", "1", "2"]


def test_many_equal_hypotheses_are_counted():
    belief = np.full(64, 1 / 64)
    lines = belief_lines(belief, BinarySearch(size=64).spec)
    assert "64 hypotheses share 1.000" in lines[1]


def test_a_skyline_adds_up_neighbors_where_there_are_too_many():
    assert skyline(np.array([0.25, 0.25, 0.25, 0.0, 0.0, 0.25]), 3) == "█▄▄"


def test_an_episode_is_saved_as_a_moving_picture(icpe, tmp_path):
    film = tmp_path / "episode.svg"
    assert icpe(f"{SEARCH} --save {film}").status == 0
    assert film.read_text().startswith("<svg") and "<animate" in film.read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--save film.mp4", "--save must end in .svg"),
        ("--save film.svg --human", "--human and --save cannot be combined"),
    ],
)
def test_a_moving_picture_that_cannot_be_saved_is_refused_first(icpe, more, said):
    called = icpe(f"{SEARCH} {more}")
    assert called.status == 2
    assert said in called.err
