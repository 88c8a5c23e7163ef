"""Files say what their guard does, and why there is none."""

import pytest

from icpe.cli.guard_words import guard_words

FAMILY = {"name": "binary-search", "parameters": {"size": 8}}


def words(family=FAMILY, episodes=None, **more):
    table = None if episodes is None else {"rows": [{"episodes": episodes}]}
    document = {"family": family, "operating_table": table, **more}
    return guard_words(document, "mine.safetensors")


def test_a_guard_is_said_with_its_false_alarms():
    said = words(guard={"record": {"upper_bound": 0.0065}}, episodes=4096)
    assert said.startswith("guarded: ") and said.endswith("at most 0.65 % do")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"episodes": 64}, "64 episodes for each row were too few to show that"),
        ({"episodes": 900}, "icpe calibrate mine.safetensors --episodes 4096"),
        ({"episodes": 4096}, "if one can be had, this makes it: icpe calibrate"),
        ({}, "it comes with the operating table: icpe calibrate"),
        ({"kind": "paper"}, "explorers of the paper's learner have none"),
        (
            {"family": {"name": "table", "parameters": {}}, "episodes": 4096},
            "explorers made from your own data have none",
        ),
        (
            {
                "family": {"name": "patches", "parameters": {"split": "test"}},
                "episodes": 4096,
            },
            "this makes it",
        ),
    ],
)
def test_without_a_guard_the_reason_is_said(given, why):
    said = words(**given)
    assert said.startswith("no guard: nothing notices answers that do not look like ")
    assert why in said
