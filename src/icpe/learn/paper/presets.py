"""Settings of the paper's learner that are known to work."""

import dataclasses

from icpe.learn.paper.config import PaperConfig
from icpe.learn.presets import Preset
from icpe.tasks.base import AbstractTaskFamily
from icpe.tasks.registry import family_name

_CPU = PaperConfig(
    num_iterations=1000,
    batch_size=64,
    minibatch_size=128,
    updates_per_iteration=4,
    replay_size=4096,
    learning_rate=2e-3,
    width=32,
    num_layers=2,
    num_heads=2,
    log_every=20,
)

_GPU = PaperConfig(
    num_iterations=1500,
    batch_size=512,
    minibatch_size=1024,
    updates_per_iteration=8,
    replay_size=32768,
    bfloat16=True,
)

_CHANGES: dict[tuple[str, Preset], dict] = {
    # One query settles more than a hundredth: a query may cost more than elsewhere,
    # and values need not tell so small costs apart.
    ("binary-search", "cpu"): {
        "error_prob": 0.01,
        "initial_cost": 0.1,
        "min_cost": 0.03,
    },
    ("binary-search", "gpu"): {
        "error_prob": 0.01,
        "initial_cost": 0.1,
        "min_cost": 0.03,
    },
    # Close values must stay apart.
    ("deterministic-bandit", "gpu"): {"bfloat16": False},
}


def paper_preset(name: Preset, family: AbstractTaskFamily) -> PaperConfig:
    """The configuration for a family, which need not be one of ours.

    Without noise a family is given a fixed budget, its horizon, as in the paper;
    the others get a fixed confidence.
    """
    config = {"cpu": _CPU, "gpu": _GPU}[name]
    changes = dict(_CHANGES.get((family_name(family), name), {}))
    if family_name(family) == "deterministic-bandit":
        changes["budget"] = family.spec.horizon
    return dataclasses.replace(config, **changes)
