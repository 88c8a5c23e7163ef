"""Configurations: what is refused, and what is derived."""

import pytest

from icpe.core.errors import InvalidParameterError
from icpe.learn.config import TrainConfig


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
        (
            {"min_price": 0.3, "max_price": 0.2},
            "min_price must be below max_price 0.2; got 0.3",
        ),
        ({"max_price": -0.1}, "max_price must be at least 0.0; got -0.1"),
        ({"cropped_updates": 3}, "less than updates_per_iteration 3; got 3"),
        ({"num_heads": 3}, "num_heads must divide width 128; got 3"),
        ({"error_prob": 0.6}, "error_prob must be between 0.0 and 0.5; got 0.6"),
        ({"caution": -1.0}, "caution must be at least 0.0; got -1.0"),
        ({"advantage_learning": 1.0}, "advantage_learning must be at least 0 and less"),
    ],
)
def test_impossible_settings_are_refused(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        TrainConfig(**change)


def test_a_lowest_price_needs_no_highest_one():
    assert TrainConfig(min_price=0.3).max_price == 0.0


def test_updates_are_counted():
    assert TrainConfig(num_iterations=10, updates_per_iteration=4).num_updates == 40


@pytest.mark.parametrize(
    "iterations, log_every, every", [(3000, 50, 100), (400, 20, 20), (10_000, 50, 250)]
)
def test_a_training_is_judged_about_forty_times_at_the_ends_of_chunks(
    iterations, log_every, every
):
    config = TrainConfig(num_iterations=iterations, log_every=log_every)
    assert config.judge_every == every
