"""Configurations: what is refused, what is derived, and the presets."""

import pytest

from icpe.core.errors import InvalidParameterError
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import PriceRange
from icpe.families.registry import family_names, make
from icpe.learn.config import TrainConfig
from icpe.learn.presets import preset
from support.toy_tasks import TwoDoors

SPEC = TaskSpec(num_queries=2, num_hypotheses=2, outcome_size=1, horizon=40)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"batch_size": 0}, "batch_size must be at least 1; got 0"),
        ({"warmup_iterations": -1}, "warmup_iterations must be at least 0"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive finite number"),
        ({"learning_rate": float("nan")}, "learning_rate must be a positive"),
        ({"trace_decay": 1.5}, r"trace_decay must be between 0.0 and 1.0; got 1.5"),
        ({"exploration_low": 0.5}, "0 < low <= high < 1; got 0.5 and 0.4"),
        ({"batch_size": 7}, "replay_size must be a multiple of batch_size 7"),
        ({"min_price": 0.3}, "min_price must be below max_price 0.2; got 0.3"),
        ({"cropped_updates": 3}, "less than updates_per_iteration 3; got 3"),
        ({"num_heads": 3}, "num_heads must divide width 128; got 3"),
    ],
)
def test_impossible_settings_are_refused(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        TrainConfig(**change)


def test_the_price_range_follows_the_horizon_unless_it_is_given():
    assert TrainConfig().prices(SPEC) == PriceRange(0.2 / 40, 0.2)
    given = TrainConfig(min_price=0.01, max_price=0.5)
    assert given.prices(SPEC) == PriceRange(0.01, 0.5)


def test_updates_are_counted():
    assert TrainConfig(num_iterations=10, updates_per_iteration=4).num_updates == 40


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_every_family_has_presets(name):
    for family in [*map(make, family_names()), TwoDoors()]:
        config = preset(name, family)
        low, high = vars(config.prices(family.spec)).values()
        assert 0 < low < high


def test_the_summary_is_left_out_where_it_would_be_too_large():
    few, many = (make("bernoulli-bandit", num_arms=n) for n in (10, 3000))
    assert preset("gpu", few).summary
    assert not preset("gpu", many).summary
