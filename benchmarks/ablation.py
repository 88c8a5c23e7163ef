"""What each ingredient of the recipe is worth, on two small cells on the CPU.

Trains the full recipe and variants that leave one ingredient out, and measures the
value they were trained for, E[correct] - price * E[queries], averaged over prices, on
the same fresh episodes. Writes JSON that `benchmarks/ablation_table.py` turns into the
table of docs/learner.md. Cells that are in the file already are not run again.

    python benchmarks/ablation.py docs/data/ablation.json
"""

import dataclasses
import json
import sys
from pathlib import Path

import jax.random as jr
import numpy as np

from icpe.artifact import Artifact, provenance
from icpe.explorers.neural import ExplorerNets
from icpe.files import replacing
from icpe.learn.config import TrainConfig
from icpe.learn.fit import fit
from icpe.rollout import run_episodes
from icpe.tasks import BinarySearch, GaussianBandit

EPISODES = 8192
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
VARIANTS = {
    "full recipe": {},
    "no warm-up": {"warmup_iterations": 0, "exploration_anneal": 0.0},
    "stopping never ignored": {"ignore_stop_final": 0.0, "ignore_stop_anneal": 0.0},
    "one exploration rate": {"exploration_high": 0.05, "exploration_low": 0.05},
    "no replay": {"replay_size": 256},
    "one-step targets": {"trace_decay": 0.0},
    "no advantage learning": {"advantage_learning": 0.0},
    "no summary in the tokens": {"summary": False},
}
FAMILIES = {
    "gaussian-bandit K=3": GaussianBandit(num_arms=3, horizon=24),
    "binary-search K=16": BinarySearch(size=16),
}


def main(path: Path) -> None:
    """Runs what is missing, one cell at a time."""
    cells = json.loads(path.read_text()) if path.exists() else {}
    for variant, changes in VARIANTS.items():
        for name, family in FAMILIES.items():
            cell = f"{name} / {variant}"
            if cell in cells:
                continue
            config = dataclasses.replace(BASE, **changes)
            result = fit(family, config)
            artifact = Artifact(result.nets, family, dataclasses.asdict(config), {})
            cells[cell] = {
                "family": name,
                "variant": variant,
                "changes": changes,
                "points": _points(artifact),
                "episodes": EPISODES,
                **provenance(seconds=round(result.seconds, 1)),
            }
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(cells, indent=1) + "\n")
            print(cell, cells[cell]["points"], flush=True)


def _points(artifact: Artifact) -> list[dict[str, float]]:
    """Accuracy and mean queries at five prices."""
    assert isinstance(artifact.nets, ExplorerNets)
    prices = artifact.nets.prices
    horizon = artifact.family.spec.horizon
    points = []
    for price in np.geomspace(prices.low, min(prices.high, 0.1), 5):
        point = artifact.operating_point(price=float(price), max_queries=horizon)
        ending = run_episodes(
            artifact.explorer, artifact.family, point, EPISODES, key=jr.key(2**20)
        )
        points.append(
            {
                "price": float(price),
                "accuracy": float(np.mean(ending.correct)),
                "mean_queries": float(np.mean(ending.num_queries)),
            }
        )
    return points


if __name__ == "__main__":
    main(Path(sys.argv[1]))
