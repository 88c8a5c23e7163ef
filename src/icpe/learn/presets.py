"""Configurations to start from, by family and machine.

`cpu` presets suit small sizes and two cores; `gpu` presets suit one modern GPU and the
paper's sizes, in a few minutes. What they came to is in the results of the studies and
on the cards of the zoo.
"""

import dataclasses
from typing import Literal

from icpe.core.family import AbstractTaskFamily
from icpe.families.registry import family_name
from icpe.learn.config import TrainConfig

Preset = Literal["cpu", "gpu"]

_CPU = TrainConfig(
    num_iterations=400,
    batch_size=256,
    minibatch_size=256,
    updates_per_iteration=2,
    replay_size=4096,
    warmup_iterations=40,
    learning_rate=2e-3,
    width=32,
    num_layers=2,
    num_heads=2,
    log_every=20,
)

_GPU = TrainConfig(
    num_iterations=4000,
    batch_size=1024,
    minibatch_size=512,
    updates_per_iteration=8,
    replay_size=32768,
    warmup_iterations=150,
    exploration_anneal=0.07,
    ignore_stop_anneal=0.1,
    bfloat16=True,
)

_FEW_QUERIES = 8
_GPU_FEW_QUERIES = {
    "num_iterations": 1500,
    "exploration_anneal": 0.18,
    "ignore_stop_anneal": 0.27,
}
"""Below `_FEW_QUERIES`; the same number of iterations until exploration is low."""

_GPU_ANY_NUMBER: dict[str, dict] = {
    "gaussian-bandit": {
        "num_iterations": 3000,
        "exploration_anneal": 0.093,
        "ignore_stop_anneal": 0.133,
        "min_price": 0.002,
    },
    "deterministic-bandit": {
        "num_iterations": 5000,
        "exploration_anneal": 0.056,
        "ignore_stop_anneal": 0.08,
    },
}
"""By family, where one explorer serves all numbers of arms; exploration is low after
about as many iterations as elsewhere."""

_CHANGES: dict[tuple[str, Preset], dict] = {
    # Without noise there is nothing to average, and close values must stay apart. A
    # tied head, which needs the summary, learns much faster on a CPU. On a GPU as
    # many iterations with one do better with 20 arms, but try fewer of 16 and 18.
    ("deterministic-bandit", "gpu"): {"summary": False, "bfloat16": False},
    # Of very many queries few are good, and those must be found: the belief points to
    # them, there is no penalty on what looks worse than the best, and all exploration
    # is among high ranks, to the end, so that what follows a slightly better query is
    # learned before the query looks better. A query is rarely made twice; the price
    # changes nothing but whether to begin at all.
    ("binary-search", "cpu"): {"advantage_learning": 0.0, "belief": True},
    ("binary-search", "gpu"): {
        "batch_size": 2048,
        "summary": False,
        "belief": True,
        "min_price": 0.05,
        "max_price": 0.13,
        "advantage_learning": 0.0,
        "high_rank_exploration": 1.0,
        "exploration_low": 0.03,
        "exploration_anneal": 0.25,
        "ignore_stop_anneal": 0.5,
    },
    # An arm's reward is the same whichever query reveals it. What each query reveals is
    # to be learned as well, which takes longer than bandits of as many arms.
    ("feedback-graph", "cpu"): {"entry_summary": True, "num_iterations": 1600},
    ("feedback-graph", "gpu"): {
        "entry_summary": True,
        "num_iterations": 2500,
        "exploration_anneal": 0.11,
        "ignore_stop_anneal": 0.16,
    },
    # Without noise as well: which arm a reward points to, and which mean is larger.
    ("magic-chain", "gpu"): {"bfloat16": False, "min_price": 0.003},
    # Four queries, but long walks to plan, which pay at low prices alone.
    ("magic-room", "gpu"): {
        "num_iterations": 4000,
        "min_price": 0.003,
        "max_price": 0.03,
    },
    # Many noise levels to tell apart, in episodes that are seldom long. Where noise is
    # low, only at low prices is a second pull worth while.
    ("magic-action", "cpu"): {"num_iterations": 1000, "min_price": 0.001},
    ("magic-action", "gpu"): {
        "num_iterations": 3000,
        "exploration_anneal": 0.09,
        "ignore_stop_anneal": 0.135,
        "min_price": 0.001,
    },
    # A step looks at pictures, which takes longer than its share of learning.
    ("patches", "gpu"): {
        "num_iterations": 2500,
        "updates_per_iteration": 4,
        "warmup_iterations": 200,
        "learning_rate": 8e-4,
        "exploration_anneal": 0.2,
        "ignore_stop_anneal": 0.3,
        "min_price": 0.002,
        "max_price": 0.1,
        "log_every": 25,
    },
}

_NEARLY_ALIKE = ("magic-action",)
"""Families in which all queries but one are things of one kind."""

_SEARCHES: dict[Preset, tuple[int, int, float, int]] = {
    "cpu": (8, 400, 1.3, 400),
    "gpu": (256, 9000, 0.75, 1000),
}
"""A search among so many takes so many iterations; among others in proportion to a
power of their number, and at least so many. Measured on a CPU up to 16 numbers."""

_LONG_HORIZON = 32
"""From here on most episodes are much shorter than the horizon."""

_SUMMARY_LIMIT = 4096
"""Largest number of summary features before the embedding outweighs the rest."""


def preset(name: Preset, family: AbstractTaskFamily) -> TrainConfig:
    """The configuration for a family, which need not be one of ours."""
    spec = family.spec
    config = {"cpu": _CPU, "gpu": _GPU}[name]
    changes = {}
    if name == "gpu" and spec.num_queries < _FEW_QUERIES:
        changes |= _GPU_FEW_QUERIES
    if name == "gpu" and getattr(family, "vary_arms", False):
        changes |= _GPU_ANY_NUMBER.get(family_name(family), {})
    changes |= _CHANGES.get((family_name(family), name), {})
    if family_name(family) == "binary-search":
        size, iterations, power, least = _SEARCHES[name]
        share = (spec.num_queries / size) ** power
        changes["num_iterations"] = max(least, 50 * round(share * iterations / 50))
    if spec.horizon >= _LONG_HORIZON:
        updates = changes.get("updates_per_iteration", config.updates_per_iteration)
        changes["crop_steps"] = spec.horizon // 2
        changes["cropped_updates"] = updates * 3 // 4
    if spec.num_queries * (1 + spec.outcome_size) > _SUMMARY_LIMIT:
        changes["summary"] = False
    alike = spec.queries_alike or family_name(family) in _NEARLY_ALIKE
    if alike and changes.get("summary", config.summary):
        changes["tied_head"] = True
    return dataclasses.replace(config, **changes)
