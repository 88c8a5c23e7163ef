"""Settings of the paper's learner that are known to work.

The Transformers are those of the universal learner's presets, without tied heads. All
families but binary search have the summary in the tokens; the paper's own have none
(`summary=False`), which takes longer to train.
"""

import dataclasses

from icpe.core.conformance import explaining
from icpe.core.family import AbstractTaskFamily
from icpe.learn.paper.config import PaperConfig
from icpe.learn.recipe import Machine
from icpe.learn.survey import survey

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
_CLOSE_VALUES = {
    # Every query counts a little, which takes long to tell apart from not at all.
    "cpu": {
        "num_iterations": 2500,
        "inference_period": 25,
        "query_period": 25,
        "exploration_anneal": 0.2,
    },
    # Close values must stay apart.
    "gpu": {"bfloat16": False},
}


def paper_preset(machine: Machine, family: AbstractTaskFamily) -> PaperConfig:
    """The configuration for a family, which need not be one of ours.

    Without noise, few possible outcomes make it a search for certainty; where outcomes
    are numbers without noise, it gets a fixed budget, the horizon, as deterministic
    bandits have in the paper. Other families get a fixed confidence.
    """
    config = {"cpu": _CPU, "gpu": _GPU}[machine]
    with explaining(family):
        found = survey(family, machine)
    changes = {}
    if not found.is_noisy and found.num_symbols is not None:
        changes = _SEARCH
    elif not found.is_noisy and family.spec.queries_alike:
        changes = {**_CLOSE_VALUES[machine], "budget": family.spec.horizon}
    return dataclasses.replace(config, **changes)
