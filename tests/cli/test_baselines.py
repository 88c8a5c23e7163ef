"""`icpe baselines`, its page, and explorers that are built on another one."""

from pathlib import Path

import pytest

from icpe.cli.baselines_page import baselines_page
from icpe.cli.catalog import explorer_cards
from icpe.cli.explorers import resolve
from icpe.explorers.rules.belief_explorer import BeliefExplorer, PosteriorStopping
from icpe.explorers.rules.borrowed import BorrowedBelief
from icpe.explorers.rules.explore_then_commit import ExploreThenCommitExplorer
from support.toy_artifacts import guesser

PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "explorer.safetensors"
    guesser(size=2).save(path)
    return path


def test_the_page_of_baselines_is_up_to_date():
    """Otherwise: icpe baselines --markdown > docs/baselines.md"""
    assert PAGE.read_text() == baselines_page(explorer_cards())


def test_every_method_is_listed_with_families_and_where_it_comes_from(icpe):
    cards = {card["name"]: card for card in icpe("baselines --json").json}
    asked_for = (
        "track-and-stop ttps ttts eb-tc lucb kl-lucb uniform-sampling tas-fg exp3-g "
        "chernoff naghshvar-javidi uniform successive-rejects sequential-halving i-dpt "
        "i-ids ucb thompson gaussian-ids explore-then-commit"
    )
    assert set(asked_for.split()) <= set(cards)
    assert all(card["families"] and card["guarantee"] for card in cards.values())
    assert cards["kl-lucb"]["families"] == ["bernoulli-bandit"]
    assert cards["i-dpt"]["is_wrapper"]
    assert "budget" in cards["successive-rejects"]["serves"]


def test_a_method_that_cannot_serve_a_family_names_those_that_can(icpe):
    called = icpe("evaluate kl-lucb --family gaussian-bandit --error-prob 0.1")
    assert called.status == 2
    assert "only bernoulli-bandit" in called.err
    assert "are: eb-tc, gaussian-ids, information-gain, lucb" in called.err


def test_an_explorer_is_built_on_a_baseline():
    words = ["i-dpt:top-two:threshold=0.9", "explore-then-commit:ttps,error_prob=0.2"]
    settings = {"num_arms": "3"}
    greedy, commits = resolve(words, "gaussian-bandit", settings).explorers.values()
    assert isinstance(greedy, BeliefExplorer) and greedy.name == "i-dpt"
    assert isinstance(greedy.belief, BorrowedBelief)
    inner = greedy.belief.inner
    assert isinstance(inner, BeliefExplorer) and inner.name == "top-two"
    assert inner.stopping == PosteriorStopping(0.9)
    assert isinstance(commits, ExploreThenCommitExplorer)
    assert float(commits.inner_point.error_prob) == pytest.approx(0.2)


@pytest.mark.slow
def test_an_explorer_is_built_on_the_belief_of_a_file(icpe, file):
    called = icpe(f"evaluate i-dpt:{file} --budget 2 --episodes 32 --json")
    assert called.status == 0, called.err
    assert called.json["explorer"] == f"i-dpt:{file}"
    assert called.json["family"]["name"] == "binary-search"
    assert called.json["mean_queries"] == 2.0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("i-dpt --family binary-search", "write i-dpt:FILE"),
        ("i-dpt:nobody --family binary-search", "There is no explorer 'nobody'"),
        ("i-dpt:uniform,error_prob=0.1 --family binary-search", "does not take"),
        ("i-ids:uniform --family feedback-graph", "bernoulli-bandit, binary-search"),
    ],
)
def test_what_an_explorer_is_built_on_must_make_sense(icpe, words, sentence):
    called = icpe(f"evaluate {words} --error-prob 0.1")
    assert called.status == 2
    assert sentence in called.err
