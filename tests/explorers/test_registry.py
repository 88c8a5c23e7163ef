from typing import Annotated

import pytest

from icpe.core.errors import InvalidParameterError, UnknownNameError, UnsupportedError
from icpe.explorers import registry
from icpe.explorers.registry import (
    accepted_families,
    explorer_names,
    explorer_parameters,
    explorer_summary,
    explorers_for,
    make_explorer,
    register_explorer,
)
from icpe.explorers.rules.belief_explorer import BeliefExplorer, PosteriorStopping
from icpe.explorers.rules.exact import make_top_two, make_uniform
from icpe.families import BinarySearch, FeedbackGraph, GaussianBandit, GroupTesting
from support.toy_tasks import TwoDoors


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))


def test_the_baselines_have_names_and_summaries():
    assert {"exact-binary-search", "top-two", "uniform"} <= set(explorer_names())
    assert all(explorer_summary(name) for name in explorer_names())


def test_make_builds_with_parameters():
    explorer = make_explorer("top-two", GaussianBandit(), threshold=0.8)
    assert isinstance(explorer, BeliefExplorer)
    assert explorer.stopping == PosteriorStopping(0.8)


def test_parameters_have_defaults_and_help():
    assert explorer_parameters("exact-binary-search") == {}
    threshold = explorer_parameters("top-two")["threshold"]
    assert threshold.default is None
    assert threshold.annotation == float | None
    assert "1 - error_prob" in threshold.help


def test_an_unknown_name_suggests_a_close_one():
    with pytest.raises(UnknownNameError, match=r"did you mean 'top-two'\?"):
        make_explorer("toptwo", GaussianBandit())


def test_an_unknown_parameter_suggests_a_close_one():
    said = r"make_explorer\('top-two', family, threshold=0.9, x='valid'\)"
    with pytest.raises(UnknownNameError, match=said):
        make_explorer("top-two:threshold=0.9,x=valid", BinarySearch())
    with pytest.raises(UnknownNameError, match=r"did you mean 'threshold'\?"):
        make_explorer("top-two", GaussianBandit(), treshold=0.9)


def test_a_family_it_cannot_serve_is_refused_with_what_fits():
    with pytest.raises(UnsupportedError) as caught:
        make_explorer("informed-greedy", BinarySearch())
    message = str(caught.value)
    assert "only feedback-graph" in message
    assert "are: chernoff, exact-binary-search, information-gain" in message


def test_a_family_that_nothing_serves_says_so():
    family = TwoDoors()
    with pytest.raises(UnsupportedError, match="neither an exact posterior"):
        make_explorer("uniform", family)


def test_a_belief_that_cannot_serve_a_rule_is_told_what_it_lacks():
    """The exact belief of a graph knows its posterior, and no more than that."""
    with pytest.raises(UnsupportedError) as caught:
        make_explorer("information-gain", FeedbackGraph())
    message = str(caught.value)
    assert "GraphMeansBelief" in message or "OneBestBelief" in message
    assert "AbstractPredictiveBelief does with the method information_gains" in message
    assert "that serve 'feedback-graph' are:" in message
    assert "battleship" not in message
    with pytest.raises(UnsupportedError, match="queries are not about its"):
        make_explorer("top-two", GroupTesting())


def test_families_and_explorers_are_found_from_either_side():
    assert accepted_families("exact-binary-search") == ("binary-search",)
    assert "top-two" in explorers_for(GaussianBandit())
    assert "exact-binary-search" not in explorers_for(GaussianBandit())


def test_a_new_explorer_can_be_registered_but_not_over_another():
    def factory(family, *, rate: Annotated[float, "how fast"] = 0.5, plain: int = 1):
        return make_uniform(family)

    register_explorer("mine", factory, (BinarySearch,), "a summary")
    register_explorer("mine", factory, (BinarySearch,), "a summary")
    assert explorer_summary("mine") == "a summary"
    assert explorer_parameters("mine")["rate"] == (float, 0.5, "how fast")
    assert explorer_parameters("mine")["plain"] == (int, 1, "")
    assert isinstance(make_explorer("mine", BinarySearch()), BeliefExplorer)
    with pytest.raises(InvalidParameterError, match="already registered"):
        register_explorer("mine", make_top_two, (BinarySearch,), "another")
