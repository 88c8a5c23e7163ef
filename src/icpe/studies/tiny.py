"""Sizes at which every part of a study runs in seconds and says nothing."""

import dataclasses

from icpe.learn.config import TrainConfig
from icpe.studies.models import Model

EPISODES = 32
"""Episodes of a tiny measurement."""

TINY = TrainConfig(
    num_iterations=4,
    batch_size=8,
    minibatch_size=8,
    updates_per_iteration=1,
    replay_size=16,
    warmup_iterations=1,
    width=8,
    num_layers=1,
    num_heads=1,
    log_every=2,
)


def tiny_model(model: Model) -> Model:
    """The same model, hardly trained."""
    return dataclasses.replace(model, config=TINY, calibration_episodes=8)
