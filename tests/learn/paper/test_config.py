"""Impossible settings of the paper's learner are one sentence; presets are possible."""

import pytest

from icpe.core.errors import InvalidParameterError
from icpe.explorers.neural.config import NetConfig
from icpe.explorers.neural.paper import Objective
from icpe.families import BinarySearch, DeterministicBandit, GaussianBandit
from icpe.learn.paper.config import PaperConfig
from icpe.learn.paper.presets import paper_preset
from icpe.learn.recipe import recipe


@pytest.mark.parametrize(
    "values, words",
    [
        ({"error_prob": 0.0}, "error_prob must lie strictly between 0 and 1; got 0.0"),
        ({"budget": -1}, "budget must be at least 0; got -1"),
        ({"query_period": 0}, "query_period must be at least 1; got 0"),
        ({"min_cost": 0.0}, "min_cost must be a positive finite number; got 0.0"),
        ({"initial_cost": 1e-5}, "initial_cost must be at least min_cost 0.005"),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1; got 1.0"),
        ({"discount": 1.5}, "discount must be between 0.0 and 1.0; got 1.5"),
        ({"replay_size": 100}, "replay_size must be a multiple of batch_size 256"),
        ({"reward": "environment"}, "reward environment needs a budget"),
        ({"num_heads": 3}, "num_heads must divide width 128; got 3"),
    ],
)
def test_impossible_settings_are_refused(values, words):
    with pytest.raises(InvalidParameterError, match=words):
        PaperConfig(**values)


def test_a_budget_takes_the_place_of_the_error_probability():
    assert PaperConfig(error_prob=0.2).objective == Objective(error_prob=0.2)
    assert PaperConfig(error_prob=0.2, budget=7).objective == Objective(budget=7)


@pytest.mark.parametrize("machine", ["cpu", "gpu"])
def test_presets_have_the_transformers_of_the_universal_learner_alone(machine):
    family = BinarySearch(16)
    mine, other = paper_preset(machine, family), recipe(machine, family)
    assert mine.transformer == other.transformer
    assert mine.net_config == NetConfig(other.transformer, summary=False)


@pytest.mark.slow
def test_the_deterministic_bandit_gets_a_budget_and_others_an_error_probability():
    budget = paper_preset("cpu", DeterministicBandit(5)).objective
    assert budget == Objective(budget=5)
    search = paper_preset("gpu", BinarySearch(16)).objective
    assert search == Objective(error_prob=0.01)
    assert paper_preset("gpu", GaussianBandit(4)).error_prob == 0.1
