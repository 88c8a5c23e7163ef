"""What each ingredient of the recipe is worth, on two small families on a CPU."""

import dataclasses
from typing import Any

import numpy as np

from icpe.core.family import AbstractTaskFamily
from icpe.families.binary_search import BinarySearch
from icpe.families.gaussian_bandit import GaussianBandit
from icpe.families.random_tests import RandomTests
from icpe.learn.config import TrainConfig
from icpe.studies.measures import Evaluation, Trained
from icpe.studies.models import Model
from icpe.studies.study import Cell, Record, Results, Size, Study
from icpe.studies.tables import Estimate, Table, average, shown
from icpe.studies.tiny import EPISODES, TINY

BASE = TrainConfig(
    num_iterations=400,
    batch_size=256,
    minibatch_size=256,
    updates_per_iteration=3,
    replay_size=8192,
    warmup_iterations=40,
    learning_rate=2e-3,
    width=32,
    num_layers=2,
    num_heads=2,
    log_every=20,
)
VARIANTS: dict[str, dict[str, Any]] = {
    "full recipe": {},
    "counted predictions": {"predictions": "counted"},
    "no predictions": {"predictions": "none"},
    "no warm-up": {"warmup_iterations": 0, "exploration_anneal": 0.0},
    "stopping never ignored": {"ignore_stop_final": 0.0, "ignore_stop_anneal": 0.0},
    "one exploration rate": {"exploration_high": 0.05, "exploration_low": 0.05},
    "no replay": {"replay_size": 256},
    "one-step targets": {"trace_decay": 0.0},
    "no advantage learning": {"advantage_learning": 0.0},
}
SEEDS = (0, 1, 2)
_TRAINED_PRICES = {"min_price": 0.002, "max_price": 0.1}
PRICES = (0.004, 0.008, 0.016, 0.032, 0.064)


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    families: dict[str, AbstractTaskFamily] = {
        "gaussian-bandit K=4": GaussianBandit(num_arms=4, horizon=40),
        "random-tests 20 x 24": RandomTests(
            num_conditions=20, num_tests=24, max_cost=3, draw=7
        ),
    }
    variants = VARIANTS
    if tiny:
        families = {"binary-search K=4": BinarySearch(size=4)}
        variants = {"full recipe": {}, "one-step targets": {"trace_decay": 0.0}}
    cells = []
    for name, family in families.items():
        base = TINY if tiny else BASE
        for variant, changes in variants.items():
            for seed in (0,) if tiny else SEEDS:
                config = dataclasses.replace(base, **_TRAINED_PRICES, **changes)
                model = Model(family, seed, config=config, calibration_episodes=64)
                measure = Evaluation(
                    family,
                    Trained(model),
                    prices=PRICES,
                    episodes=EPISODES if tiny else 8192,
                )
                cells.append(Cell(f"{name}, {variant}", "ours", measure, seed))
    return Study(
        "ablation",
        "What each ingredient is worth",
        "The recipe with one ingredient left out at a time, small networks and a short "
        "training. Value: accuracy less price times mean queries, averaged over five "
        "prices and over three training seeds. The paper has no such study.",
        tuple(cells),
        _tables,
    )


def value_of(result: Record) -> float:
    """Accuracy less price times cost, averaged over the prices."""
    return float(
        np.mean(
            [
                one["accuracy"] - float(price) * one["mean_cost"]
                for price, one in result["price"].items()
            ]
        )
    )


def _value(results: Results, row: str) -> Estimate | None:
    return average([value_of(one) for one in results.of(row, "ours")])


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        family, variant = row.split(", ", 1)
        whole = _value(results, f"{family}, full recipe")
        mine = _value(results, row)
        lost = None if whole is None or mine is None else whole.value - mine.value
        rows.append((f"{family}: {variant}", shown(mine, 4), shown(lost, 4)))
    return [
        Table(
            "ablation",
            "Value of the trained explorer, and what is lost without an ingredient",
            ("", "value", "lost"),
            tuple(rows),
        )
    ]
