"""`icpe compare`, and the comparison that the front page quotes."""

import json
from pathlib import Path

import pytest

from icpe import zoo
from icpe.cli.compare import comparison_lines
from icpe.evaluate.equal_accuracy import compare_at_accuracy
from icpe.explorers import make_explorer

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs/data/comparison.json").read_text())
WORDS = "compare information-gain uniform --family noisy-binary-search"
SMALL = "--family.size 5 --family.horizon 8 --accuracy 0.8 --episodes 200"


def test_the_first_is_compared_with_the_others(icpe):
    record = icpe(f"{WORDS} {SMALL} --json").json
    assert record["accuracy"] == 0.8 and record["episodes"] == 200
    first, other = record["explorers"]
    assert first["saving"] is None and first["explorer"] == "information-gain"
    assert 0 < other["saving"] < 1
    low, high = other["saving_interval"]
    assert low < other["saving"] < high
    assert other["saving"] == 1 - first["mean_cost"] / other["mean_cost"]
    shown = icpe(f"{WORDS} {SMALL}").out
    for line in comparison_lines(record["explorers"]):
        assert line in shown


def test_an_accuracy_out_of_reach_is_told_with_what_is_reached():
    rows = [
        {"explorer": "one", "mean_cost": 2.0, "mean_cost_interval": (1.5, 2.5)},
        {"explorer": "two", "mean_cost": None, "mean_cost_interval": None},
    ]
    rest = {"saving": None, "saving_interval": None, "highest_accuracy": None}
    rows = [rest | row for row in rows]
    rows[1]["highest_accuracy"] = 0.9327
    assert comparison_lines(rows) == [
        "explorer  queries                95 %  saved  95 %",
        "one          2.00        1.50 to 2.50",
        "two         never  reaches only 0.932",
    ]


def test_impossible_accuracies_are_refused(icpe):
    called = icpe(f"{WORDS} --accuracy 1")
    assert called.status == 2
    assert (
        "--accuracy must lie strictly between 0 and 1, as in 0.9; got 1." in called.err
    )


@pytest.mark.parametrize(
    "words, baselines",
    [
        ("gaussian-bandit-4", "information-gain or top-two or track-and-stop"),
        ("i-dpt:binary-search-8", "information-gain or top-two or uniform"),
        ("uniform --family adaptive-test", "information-gain or sprt or"),
    ],
)
def test_one_explorer_is_told_with_whom_it_can_be_compared(icpe, words, baselines):
    called = icpe(f"compare {words} --accuracy 0.9")
    assert called.status == 2
    assert "has nobody to be compared with; name two or more" in called.err
    assert baselines in called.err


def test_explorers_of_two_families_are_told_apart(icpe):
    called = icpe("compare gaussian-bandit-4 binary-search-8 --episodes 10")
    assert called.status == 2
    assert "gaussian-bandit-4 was made for gaussian-bandit(num_arms=4," in called.err
    assert "and binary-search-8 for binary-search(size=8" in called.err


@pytest.mark.parametrize("page", ["README.md", "docs/reports.md"])
def test_a_page_quotes_what_the_command_printed(page):
    text = (ROOT / page).read_text()
    if page == "README.md":
        table = "\n".join(comparison_lines(STORED["explorers"]))
        assert table in text
        names = " ".join(row["explorer"] for row in STORED["explorers"])
        asked = f"--accuracy {STORED['accuracy']} --episodes {STORED['episodes']}"
        assert f"$ icpe compare {names} {asked}\n" in text
    for row in STORED["explorers"][1:3]:
        low, high = row["saving_interval"]
        quoted = f"{row['saving']:.0%} ({low:.0%} to {high:.0%})".replace("%", " %")
        assert quoted in " ".join(text.split())


@pytest.mark.slow
def test_the_quoted_savings_are_found_again():
    """Other tasks, fewer: the difference is within 5 of its standard errors (6e-7)."""
    artifact = zoo.load("gaussian-bandit-4")
    rivals = ("uniform", "top-two")
    explorers = {"ours": artifact} | {
        name: make_explorer(name, artifact.family) for name in rivals
    }
    rows = compare_at_accuracy(
        explorers, artifact.family, STORED["accuracy"], episodes=1000, seed=1
    )
    stored = {row["explorer"]: row for row in STORED["explorers"]}
    for row in rows[1:]:
        assert row.saving is not None and row.saving_interval is not None
        errors = [
            (high - low) / 2 / 1.96
            for low, high in (
                row.saving_interval,
                stored[row.explorer]["saving_interval"],
            )
        ]
        allowed = 5 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5
        assert abs(row.saving - stored[row.explorer]["saving"]) < allowed
