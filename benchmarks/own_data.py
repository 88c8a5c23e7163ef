"""Measures explorers trained from networks and item banks against the rules to beat.

    python benchmarks/own_data.py child FILE [docs]
    python benchmarks/own_data.py bank FILE [docs]

FILE is a trained explorer, made with the defaults of `icpe train`:

    icpe train --network child.bif.gz --target Disease --out FILE
    icpe train --items docs/data/item-bank.csv --cuts -0.43 0.43 --out FILE

All play the same fresh episodes, and are compared at equal accuracy, each moved along
its own curve; intervals are of paired differences. Writes docs/data/own-data.json, from
which `python benchmarks/own_data_page.py` makes the tables of the pages.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import icpe
from icpe.evaluate.compare import cost_at_accuracy, ratio_of_costs
from icpe.evaluate.equal_accuracy import PricePoints, _scaled_points
from icpe.evaluate.thresholds import play_thresholds
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.families import AdaptiveTest

ACCURACIES = {"child": (0.8, 0.9), "bank": (0.8, 0.85)}
RULES = {
    "child": ("information-gain",),
    "bank": ("information-gain", "sprt", "curtailed-sprt", "maximum-information"),
}
SHORT_OF_BEST = 0.01
SEED = 77


def measure(name: str, artifact: Any, episodes: int) -> dict:
    """The explorer and the rules at each accuracy."""
    family = artifact.family
    rules = {rule: icpe.make_explorer(rule, family) for rule in RULES[name]}
    rule = rules["information-gain"]
    assert isinstance(rule, BeliefExplorer)
    greedy = play_thresholds(rule, family, episodes, seed=SEED)
    best = greedy.stopped_at(1.0).accuracy
    least = [best]
    if "sprt" in rules:
        # What Wald's test reaches with the widest threshold that is tried.
        point = _scaled_points(rules["sprt"], family, 0.999, episodes, SEED)
        least.append(point[-1].accuracy)
    top = round(min(least) - SHORT_OF_BEST, 4)
    levels = [*(it for it in ACCURACIES[name] if it < top), top]
    played = PricePoints(artifact, episodes, SEED)
    rows = []
    for level in levels:
        ours = cost_at_accuracy(played.around(level), level)
        row: dict[str, Any] = {
            "accuracy": level,
            "ours": None if ours is None else ours.cost,
            "rules": {},
        }
        for rule, explorer in rules.items():
            if rule == "information-gain":
                points = greedy.around(level)
            elif isinstance(explorer, BeliefExplorer):
                points = play_thresholds(explorer, family, episodes, seed=SEED).around(
                    level
                )
            else:
                points = _scaled_points(explorer, family, level, episodes, SEED)
            theirs = cost_at_accuracy(points, level)
            found: dict[str, Any] = {"cost": None if theirs is None else theirs.cost}
            if ours is not None and theirs is not None:
                ratio = ratio_of_costs(ours, theirs)
                found |= {"ratio": ratio.value, "interval": [ratio.low, ratio.high]}
            row["rules"][rule] = found
        rows.append(row)
        print(json.dumps(row), flush=True)
    return {
        "episodes": episodes,
        "seed": SEED,
        "best_attainable": best,
        "levels": rows,
        "training": artifact.training,
        "trained": artifact.provenance,
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
    parser.add_argument("--episodes", type=int, default=20_000)
    given = parser.parse_args()
    if given.name == "write-bank":
        write_bank(given.file)
        return
    artifact = icpe.Artifact.load(given.file)
    path = given.docs / "data" / "own-data.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    record[given.name] = measure(given.name, artifact, given.episodes)
    path.write_text(
        json.dumps(record, indent=1, default=lambda it: np.asarray(it).tolist()) + "\n"
    )


if __name__ == "__main__":
    main()
