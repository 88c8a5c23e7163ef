"""Settings of the paper's learner that are known to work.

The Transformers are those of the universal learner's presets, without tied heads. All
families but binary search have the summary in the tokens; the paper's own have none
(`summary=False`), which takes longer to train.
"""

import dataclasses

from icpe.core.family import AbstractTaskFamily
from icpe.families.registry import family_name
from icpe.learn.paper.config import PaperConfig
from icpe.learn.presets import Preset

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
    summary=True,
    log_every=20,
)

_GPU = PaperConfig(
    num_iterations=1500,
    batch_size=512,
    minibatch_size=1024,
    updates_per_iteration=8,
    replay_size=32768,
    decay_fraction=0.5,
    dual_rate=4e-3,
    bfloat16=True,
    summary=True,
)

_SEARCH = {
    # One query settles more than a hundredth: a query may cost more than elsewhere,
    # so that values need not tell tiny costs apart.
    "error_prob": 0.01,
    "initial_cost": 0.1,
    "min_cost": 0.03,
    "summary": False,
}
_CHANGES: dict[tuple[str, Preset], dict] = {
    ("binary-search", "cpu"): _SEARCH,
    ("binary-search", "gpu"): _SEARCH,
    # Every arm counts a little, which takes long to tell apart from not at all.
    ("deterministic-bandit", "cpu"): {
        "num_iterations": 2500,
        "inference_period": 25,
        "query_period": 25,
        "exploration_anneal": 0.2,
    },
    # Close values must stay apart.
    ("deterministic-bandit", "gpu"): {"bfloat16": False},
}


def paper_preset(name: Preset, family: AbstractTaskFamily) -> PaperConfig:
    """The configuration for a family, which need not be one of ours.

    The deterministic bandit gets a fixed budget, its horizon, as in the paper; other
    families get a fixed confidence.
    """
    config = {"cpu": _CPU, "gpu": _GPU}[name]
    changes = dict(_CHANGES.get((family_name(family), name), {}))
    if family_name(family) == "deterministic-bandit":
        changes["budget"] = family.spec.horizon
    return dataclasses.replace(config, **changes)
