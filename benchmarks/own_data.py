"""Measures explorers trained from networks and item banks against the rules to beat.

    python benchmarks/own_data.py child FILE [docs]
    python benchmarks/own_data.py bank FILE [docs] [--episodes 40000]
    python benchmarks/own_data.py bank FILE [docs] --key bank-cpu
    python benchmarks/own_data.py pathfinder FILE [docs]

FILE is a trained explorer:

    icpe train --network child.bif.gz --target Disease --out FILE
    icpe train --items docs/data/item-bank.csv --cuts -0.43 0.43 --out FILE
    icpe train --network pathfinder.bif.gz --target Fault --family.horizon 20 \\
        --calibration-episodes 1024 --out FILE

The record says for how many iterations each was trained.

All play the same fresh episodes, and are compared at equal accuracy, each moved along
its own curve; intervals are of paired differences. The tests of the field are tuned for
each accuracy first, on other episodes. Writes docs/data/own-data.json, from which
`python benchmarks/own_data_page.py` makes the tables of the pages. The bank was written
by `python benchmarks/own_data.py write-bank docs/data/item-bank.csv`.
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

import icpe
from icpe.evaluate.against_rule import decision_ms
from icpe.evaluate.compare import cost_at_accuracy, ratio_of_costs
from icpe.evaluate.equal_accuracy import PricePoints, scaled_points
from icpe.evaluate.thresholds import ThresholdEpisodes, play_thresholds
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.families import AdaptiveTest

ACCURACIES = {
    "child": (0.8, 0.9),
    "bank": (0.7, 0.8),
    "pathfinder": (0.8, 0.9),
}
GREEDY = "information-gain"
RULES = {
    "child": (GREEDY,),
    "bank": (GREEDY, "sprt", "maximum-information"),
    "pathfinder": (GREEDY,),
}
EPISODES = {"child": 20_000, "bank": 5000, "pathfinder": 4000}
TUNED: dict[str, list[dict[str, Any]]] = {
    "sprt": [
        {"at": at, "indifference": width}
        for at in ("cut", "ability")
        for width in (0.1, 0.3)
    ],
}
SHORT_OF_BEST = 0.01
SEED = 77
TUNING_SEED = 78
TUNING_EPISODES = 1024


class Rules:
    """The curves of the rules, each played once."""

    def __init__(self, names: Iterable[str], family, episodes: int):
        self._family, self._episodes = family, episodes
        self._played: dict[str, ThresholdEpisodes] = {}
        for name in names:
            explorer = icpe.make_explorer(name, family)
            if isinstance(explorer, BeliefExplorer):
                self._played[name] = play_thresholds(
                    explorer, family, episodes, seed=SEED
                )

    def best(self, name: str) -> float:
        """The accuracy with all queries of the horizon made."""
        if name in self._played:
            return self._played[name].stopped_at(1.0).accuracy
        every = (
            self._scaled(name, settings, 0.999, self._episodes, SEED)
            for settings in TUNED[name]
        )
        return max(points[-1].accuracy for points in every)

    def at(self, name: str, level: float) -> tuple[Any, dict]:
        """The cost at an accuracy, and the settings with which it was reached."""
        if name in self._played:
            return cost_at_accuracy(self._played[name].around(level), level), {}
        settings = min(TUNED[name], key=lambda it: self._tuning_cost(name, it, level))
        points = self._scaled(name, settings, level, self._episodes, SEED)
        return cost_at_accuracy(points, level), settings

    def _tuning_cost(self, name: str, settings: Mapping[str, Any], level: float):
        points = self._scaled(name, settings, level, TUNING_EPISODES, TUNING_SEED)
        found = cost_at_accuracy(points, level)
        return np.inf if found is None else found.cost

    def _scaled(self, name, settings, level, episodes, seed):
        explorer = icpe.make_explorer(name, self._family, **settings)
        return scaled_points(explorer, self._family, level, episodes, seed)


def measure(name: str, artifact: Any, episodes: int) -> dict:
    """The explorer and the rules at each accuracy."""
    family = artifact.family
    rules = Rules(RULES[name], family, episodes)
    best = rules.best(GREEDY)
    least = [best] + ([rules.best("sprt")] if "sprt" in RULES[name] else [])
    top = round(min(least) - SHORT_OF_BEST, 4)
    print(f"best attainable {best:.4f}; compared up to {top:.4f}", flush=True)
    played = PricePoints(artifact, episodes, SEED)
    rows = []
    for level in [*(it for it in ACCURACIES[name] if it < top), top]:
        ours = cost_at_accuracy(played.around(level), level)
        row: dict[str, Any] = {
            "accuracy": level,
            "ours": None if ours is None else ours.cost,
            "rules": {},
        }
        for rule in RULES[name]:
            theirs, settings = rules.at(rule, level)
            found: dict[str, Any] = {"cost": None if theirs is None else theirs.cost}
            if ours is not None and theirs is not None:
                ratio = ratio_of_costs(ours, theirs)
                found |= {"ratio": ratio.value, "interval": [ratio.low, ratio.high]}
            row["rules"][rule] = found | ({"settings": settings} if settings else {})
        rows.append(row)
        print(json.dumps(row), flush=True)
    return {
        "episodes": episodes,
        "seed": SEED,
        "best_attainable": best,
        "levels": rows,
        "decision_ms": decisions(artifact),
        "training": artifact.training,
        "trained": artifact.provenance,
    }


def decisions(artifact: Any) -> dict[str, Any]:
    """Median time of a decision, of the explorer and of the greedy rule."""
    family = artifact.family
    rule = icpe.make_explorer(GREEDY, family)
    point = artifact.point_at(artifact.prices.low)
    never = icpe.OperatingPoint.at(family.spec.horizon, budget=family.spec.horizon)
    return {
        "ours": decision_ms(artifact.explorer, family, point),
        GREEDY: decision_ms(rule, family, never),
        "device": jax.devices()[0].device_kind,
    }


def write_bank(path: Path) -> None:
    """300 items of the two-parameter model, drawn once."""
    bank = AdaptiveTest().bank
    rows = zip(bank.discrimination, bank.difficulty, strict=True)
    lines = [f"item {i + 1},{a:.4f},{b:.4f}" for i, (a, b) in enumerate(rows)]
    path.write_text("\n".join(["item,a,b", *lines]) + "\n", encoding="utf-8")


def main() -> None:
    """Measures one explorer, and keeps the rest of the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=[*RULES, "write-bank"])
    parser.add_argument("file", type=Path)
    parser.add_argument("docs", nargs="?", type=Path, default=Path("docs"))
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--key", help="of the record, if not the name")
    given = parser.parse_args()
    if given.name == "write-bank":
        write_bank(given.file)
        return
    artifact = icpe.Artifact.load(given.file)
    path = given.docs / "data" / "own-data.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    episodes = given.episodes or EPISODES[given.name]
    record[given.key or given.name] = measure(given.name, artifact, episodes)
    path.write_text(
        json.dumps(record, indent=1, default=lambda it: np.asarray(it).tolist()) + "\n"
    )


if __name__ == "__main__":
    main()
