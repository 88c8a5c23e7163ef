"""The drawings: numbers drawn are the numbers known, and all text is escaped."""

import dataclasses
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from icpe.core.board import Board, BoardCell
from icpe.core.episode import StopReason
from icpe.core.family import QueryAxis
from icpe.core.request import Request
from icpe.deploy.departures import UNDECIDED
from icpe.families import (
    AdaptiveTest,
    Battleship,
    BinarySearch,
    FeedbackGraph,
    GaussianBandit,
    MagicRoom,
    RandomTests,
)
from icpe.families.patches.law import Patches
from icpe.service.drawings import words
from icpe.service.drawings.findings import findings
from icpe.service.drawings.fitting import view_of
from icpe.service.drawings.posterior import posterior_bars, share
from icpe.service.drawings.weighing import (
    weighing_chart,
    weighing_legend,
    weighing_sentence,
)
from support.certificates import unearned_certificate
from support.scenes import scene, table

ARMS = GaussianBandit(num_arms=3, horizon=20)
NASTY = "<script>alert('x')</script> & \"quotes\""


def parsed(markup):
    """As XML, so that whatever is not well formed or not escaped is noticed."""
    return ET.fromstring(f"<page>{markup}</page>")


def text_of(markup):
    return " ".join("".join(parsed(markup).itertext()).split())


def having(tree, name, **attributes):
    found = tree.iter(name)
    return [
        it for it in found if all(it.get(k) == value for k, value in attributes.items())
    ]


def test_bars_are_as_long_as_beliefs_are_probable():
    belief = [0.125, 0.625, 0.25]
    tree = parsed(posterior_bars(scene(ARMS, [], belief=belief)))
    widths = [having(tree, "rect", id=f"belief-{i}")[0].get("width") for i in range(3)]
    assert widths == ["12.50%", "62.50%", "25.00%"]
    (leader,) = having(tree, "tr", **{"class": "leads"})
    assert "arm 1 (leads)" in "".join(leader.itertext())


def test_of_many_hypotheses_the_most_probable_are_named_in_their_order():
    family = BinarySearch(size=64)
    belief = np.full(64, 0.2 / 60)
    belief[[9, 3, 40, 41]] = 0.2
    drawn = posterior_bars(scene(family, [], belief=belief))
    names = [
        it.text
        for it in having(parsed(drawn), "th", scope="row")
        if it.text != "Answer"
    ]
    numbers = [int(name or "") for name in names]
    assert set(numbers) > {3, 9, 40, 41} and numbers == sorted(numbers)
    assert "56 other answers share 18.7 %" in text_of(drawn)


def test_a_share_is_never_rounded_to_certainty():
    assert share(0.0) == "0.0 %" and share(1.0) == "100.0 %"
    assert share(1e-5) == "< 0.1 %" and share(0.99999) == "> 99.9 %"


def test_the_statistic_that_decides_is_drawn():
    running = scene(ARMS, [(0, 0.5)], weighed=[(0.3, 0.7), (0.61, 0.655)])
    assert weighing_sentence(running) == (
        "Stopping now is worth 0.61, asking on 0.655 after costs: another question "
        "gains 0.045."
    )
    assert "0.6100" in weighing_legend(running) and "0.6550" in weighing_legend(running)
    tree = parsed(weighing_chart(running))
    heights = {
        side: float(having(tree, "circle", id=f"weighed-{side}")[0].attrib["cy"][:-1])
        for side in ("stop", "ask")
    }
    assert 0 < heights["ask"] < heights["stop"] < 100
    stopped = scene(ARMS, [(0, 0.5)], weighed=[(0.3, 0.7), (0.9, 0.9)])
    assert "gains nothing, so it stops" in weighing_sentence(stopped)


def test_nothing_is_weighed_against_a_budget():
    fixed = scene(ARMS, [], weighed=[(0.3, 0.7)], request=Request(budget=4))
    assert weighing_sentence(fixed).endswith("exactly 4 questions are asked.")
    assert not weighing_chart(fixed) and not weighing_legend(fixed)
    room = scene(MagicRoom(size=4), [])
    assert "only the task itself ends" in weighing_sentence(room)


def test_every_outcome_is_a_dot_at_its_arm():
    drawn = view_of(scene(ARMS, [(0, 0.5), (2, 1.5), (0, 0.7), (0, 0.7)]))
    assert drawn.kind == "arms"
    rows = having(parsed(drawn.body), "tr")[1:4]
    assert [len(having(row, "circle")) for row in rows] == [3, 0, 1]
    first = having(rows[0], "circle")
    assert first[1].get("cx") == first[2].get("cx")
    assert first[1].get("cy") != first[2].get("cy")
    assert "0.633" in "".join(rows[0].itertext())


def test_one_query_may_tell_about_several_arms():
    family = FeedbackGraph(kind="loopy-star", num_arms=3)
    drawn = view_of(scene(family, [(0, [0.1, 0.0, 0.4, 1, 0, 1])]))
    rows = having(parsed(drawn.body), "tr")[1:4]
    assert [len(having(row, "circle")) for row in rows] == [1, 0, 1]


def test_patches_that_were_seen_show_their_pixels():
    family = Patches()
    pixels = np.linspace(0, 1, 25)
    drawn = view_of(scene(family, [(7, pixels)], open_queries=(3,)))
    assert drawn.kind == "picture"
    tree = parsed(drawn.body)
    fills = [it.get("fill") for it in having(tree, "rect") if it.get("fill")]
    assert len(fills) == 25 and fills[0] == "#000000" and fills[-1] == "#ffffff"
    links = {int(it.get("data-query", -1)): it for it in having(tree, "a")}
    assert set(links) == set(range(36)) - {7}
    assert links[3].get("aria-label") == "row 1, column 4, asked for"
    past = dataclasses.replace(scene(family, [(7, pixels)]), shown=0)
    assert not having(parsed(view_of(past).body), "a")


@pytest.mark.parametrize(
    "family, kind, outcome",
    [
        (MagicRoom(size=4), "board", [1, 2, 0, 1, 0]),
        (Battleship(size=4, length=2), "board", 1.0),
        (AdaptiveTest(num_items=9, horizon=5), "axis", 1.0),
        (RandomTests(num_conditions=3, num_tests=4), "findings", 1.0),
    ],
    ids=["room", "battle", "items", "findings"],
)
def test_a_view_that_fits(family, kind, outcome):
    here = scene(family, [(1, outcome)])
    drawn = view_of(here)
    assert drawn.kind == kind
    parsed(drawn.body)
    parsed(findings(here))


def test_a_test_item_says_how_hard_it_is():
    family = AdaptiveTest(num_items=9, horizon=5)
    listed = text_of(findings(scene(family, [(2, 0.0)])))
    assert listed.startswith("item 2") and "difficulty" in listed and "wrong" in listed


class Nasty(RandomTests):
    """A stranger's family whose words are an attack."""

    place: int = 0

    @property
    def spec(self):
        spec = super().spec
        names = tuple(f"{NASTY} {i}" for i in range(spec.num_queries))
        hypotheses = tuple(f"{NASTY} {i}" for i in range(spec.num_hypotheses))
        return dataclasses.replace(
            spec,
            query_names=names,
            hypothesis_names=hypotheses,
            outcome_names=(NASTY,),
            outcome_labels=((NASTY, (0.0,)), ("b", (1.0,))),
        )

    def query_note(self, query):
        return NASTY

    def query_axis(self):
        if self.place == 1:
            return QueryAxis(NASTY, range(4))
        return None

    def episode_picture(self, history):
        return (NASTY,) if self.place == 2 else ()

    def episode_board(self, history):
        if self.place != 3:
            return None
        cell = BoardCell(0, 0, "good", "<b>", NASTY, 1)
        return Board(2, 2, (cell,), ((0, 0), (1, 1)), NASTY)


@pytest.mark.parametrize("place", range(4), ids=["findings", "axis", "text", "board"])
def test_words_of_strangers_are_escaped(place):
    family = Nasty(num_conditions=3, num_tests=4, place=place)
    here = scene(family, [(1, 0.0)], weighed=[(0.1, 0.2), (0.3, 0.4)])
    everything = [
        view_of(here).body,
        findings(here),
        posterior_bars(here),
        weighing_chart(here),
        weighing_legend(here),
    ]
    for drawn in everything:
        assert "<script" not in drawn and "<b>" not in drawn
        assert not having(parsed(drawn), "script")
    assert NASTY in text_of(findings(here))


def test_what_a_certificate_promises_and_when_it_is_lost():
    certificate = unearned_certificate(
        error_prob=0.1, price=0.01, weights="w", fingerprint="f"
    )
    held = words.assurance(scene(ARMS, [], certificate=certificate))
    assert held.state == "certified" and "mind the units" not in held.text
    alone = words.assurance(scene(ARMS, [], certificate=certificate, guarded=False))
    assert "mind the units" in alone.text
    assert "At most 10 % of the answers are wrong on average" in held.text
    assert "a single one may be less sure" in held.text
    assert "tested on simulated problems" in held.text
    real = unearned_certificate(error_prob=0.1, test="held-out")
    aside = words.assurance(scene(ARMS, [], certificate=real))
    assert "tested on rows that nothing had seen" in aside.text
    assert "Held-out rows" in dict(aside.facts)
    undecided = words.assurance(
        scene(
            ARMS,
            [],
            certificate=certificate,
            certificate_lost=UNDECIDED,
            undecided=True,
        )
    )
    assert undecided.title == "Undecided" and undecided.state == "lost"
    assert "sessions that reach it" in undecided.text
    of_rows = dataclasses.replace(certificate, test="held-out")
    told = words.assurance(scene(ARMS, [], certificate=of_rows))
    assert "rows that nothing had seen" in told.text
    assert "Held-out rows" in dict(told.facts)
    lost = words.assurance(
        scene(ARMS, [], certificate=certificate, certificate_lost="arm 2 was skipped")
    )
    assert lost.state == "lost" and "arm 2 was skipped" in lost.text
    none = words.assurance(scene(ARMS, [], table=table(20)))
    assert none.state == "none" and "91.2 % of the answers were right" in none.text


@pytest.mark.parametrize(
    "number, expected",
    [
        (0, "take 7.5 questions on average; half end by question 7, 9 of 10 end by"),
        (9, "9 of 10 end by question 11, 99 of 100 end by question 15"),
        (15, "Longer than 99 of 100 simulated sessions"),
    ],
)
def test_questions_to_be_expected_are_those_measured(number, expected):
    here = scene(ARMS, [(0, 0.5)] * number, table=table(20))
    assert expected in words.outlook(here)


def test_questions_left_of_a_budget_are_counted():
    here = scene(ARMS, [(0, 0.5)] * 3, request=Request(budget=4), max_queries=4)
    assert words.outlook(here) == "1 question left, as the budget says."


def test_costs_are_added_up():
    family = RandomTests(num_conditions=3, num_tests=4, max_cost=5)
    costs = family.spec.costs
    here = scene(family, [(1, 0.0), (3, 1.0)])
    assert words.cost_line(here) == f"2 questions, cost {costs[1] + costs[3]:g}"


def test_where_it_stands_is_said_in_one_sentence():
    belief = [0.1, 0.8, 0.1]
    here = scene(ARMS, [(0, 0.5)], belief=belief)
    assert words.standing(here) == (
        "After 1 answer the most probable answer is arm 1 with probability 80.0 %."
    )
    ended = dataclasses.replace(here, stop_reason=StopReason.EXPLORER, open_queries=())
    assert "the session has ended: arm 1" in words.standing(ended)
    early = dataclasses.replace(here, closed=True)
    assert words.end_sentence(early).startswith("It was closed before")
    weighed = scene(ARMS, [(0, 0.5)], weighed=[(0.3, 0.7), (0.66, 0.655)])
    ended = dataclasses.replace(weighed, stop_reason=StopReason.EXPLORER)
    assert words.end_sentence(ended) == (
        "It stopped because another question is not worth its cost."
    )


def test_no_drawing_has_a_style_of_its_own():
    here = scene(ARMS, [(0, 0.5)], weighed=[(0.3, 0.7), (0.61, 0.655)])
    for drawn in (view_of(here).body, posterior_bars(here), weighing_chart(here)):
        assert not re.search(r"\s(style|on\w+)=", drawn)
