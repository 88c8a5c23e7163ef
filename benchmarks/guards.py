"""Gives explorers of the zoo their guard, and measures what it notices.

python benchmarks/guards.py measure [NAME ..]    writes guards into the zoo's files
python benchmarks/guards.py power [NAME ..]      writes docs/data/guards.json
python benchmarks/guards.py table                writes the table in the docs
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from icpe import zoo
from icpe.artifact.outcome_law import NumberLaw
from icpe.cli.runtime import keep_compiled_programs
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.guard import GuardStage, count_alarms, measure_guard

DOCS = Path(__file__).parents[1] / "docs"
RECORD = DOCS / "data" / "guards.json"
PAGE = DOCS / "certificates.md"
EPISODES = 2048
FRESH = 5_000
SEED = 11
MARK, END = "<!-- guards -->", "<!-- /guards -->"


class Changed(AbstractTaskFamily):
    """A family whose answers are scaled, shifted, or made less or more noisy."""

    family: AbstractTaskFamily
    scale: float = 1.0
    shift: float = 0.0
    noise: float = 1.0
    others: bool = False

    @property
    def spec(self):
        return self.family.spec

    def sample_task(self, *, key):
        return self.family.sample_task(key=key)

    def reset(self, task, *, key):
        return self.family.reset(task, key=key)

    def step(self, state, query, task, *, key):
        asked = (query + 1) % self.spec.num_queries if self.others else query
        found = self.family.step(state, asked, task, key=key)
        outcome = found.outcome
        if self.noise != 1.0:
            means = [
                self.family.step(state, asked, task, key=other).outcome
                for other in jnp.asarray(_keys(key))
            ]
            center = sum(means) / len(means)
            outcome = center + self.noise * (outcome - center)
        outcome = self.scale * outcome + self.shift
        return dataclasses.replace(found, outcome=outcome)

    def hypothesis(self, task):
        return self.family.hypothesis(task)


def _keys(key, number: int = 64):
    import jax.random as jr

    return jr.split(jr.fold_in(key, 1), number)


def changes(artifact) -> dict[str, dict[str, Any]]:
    """What is done to the answers of a family."""
    law = artifact.guard.law
    if not isinstance(law, NumberLaw):
        return {"answers to other queries": {"others": True}}
    width = float(np.sqrt(np.median(law.within)))
    return {
        "units x 10": {"scale": 10.0},
        "units x 0.1": {"scale": 0.1},
        "shift of 5 noise widths": {"shift": 5.0 * width},
        "noise doubled": {"noise": 2.0},
        "noise halved": {"noise": 0.5},
        "answers to other queries": {"others": True},
    }


def measure(names) -> None:
    """Writes guards into the files of the zoo."""
    for name in names:
        artifact = zoo.load(name)
        guard = measure_guard(artifact, episodes=EPISODES)
        dataclasses.replace(artifact, guard=guard).save(zoo.path(name))
        print(name, None if guard is None else guard.to_dict(), flush=True)


def power(names) -> None:
    """Counts false alarms and alarms in changed families."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names:
        artifact = zoo.load(name)
        if artifact.guard is None:
            continue
        alarms = count_alarms(artifact, artifact.guard, FRESH, seed=SEED)
        rows = {}
        for word, change in changes(artifact).items():
            rows[word] = _noticed(artifact, Changed(artifact.family, **change))
        record[name] = {"fresh": FRESH, "alarms": alarms, "noticed": rows}
        print(name, record[name], flush=True)
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _noticed(artifact, family) -> dict[str, float]:
    """Share of sessions with an alarm, by the third query, and mean queries to it."""
    stage = GuardStage(artifact, SEED, family)
    guard = artifact.guard
    *_, chunks = stage.points("power", 512)
    (played,) = chunks
    first = np.full(len(played.length), np.inf)
    for steps in range(1, played.queries.shape[1] + 1):
        cut = dataclasses.replace(
            played,
            queries=played.queries[:, :steps],
            outcomes=played.outcomes[:, :steps],
            beliefs=played.beliefs[:, :steps],
            length=np.minimum(played.length, steps),
        )
        raised = cut.extremes(guard.law).exceeds(guard.limits)
        first = np.where(raised & ~np.isfinite(first), steps, first)
        if steps >= 20 or np.isfinite(first).all():
            break
    caught = np.isfinite(first)
    return {
        "by_third": float(np.mean(first <= 3)),
        "by_twentieth": float(caught.mean()),
        "queries": float(first[caught].mean()) if caught.any() else float("nan"),
    }


def table() -> None:
    """Writes the table between its marks."""
    record = json.loads(RECORD.read_text())
    words = list(dict.fromkeys(w for r in record.values() for w in r["noticed"]))
    rows = [
        "| explorer | false alarms, worst | " + " | ".join(words) + " |",
        "| --- | ---: |" + " ---: |" * len(words),
    ]
    for name, found in sorted(record.items()):
        worst = max(found["alarms"]) / found["fresh"]
        cells = [_cell(found["noticed"].get(word)) for word in words]
        rows.append(f"| `{name}` | {100 * worst:.2f} % | " + " | ".join(cells) + " |")
    text = PAGE.read_text()
    before, rest = text.split(MARK)
    after = rest.split(END)[1]
    PAGE.write_text(before + MARK + "\n" + "\n".join(rows) + "\n" + END + after)


def _cell(found) -> str:
    if found is None:
        return ""
    if not found["by_twentieth"]:
        return "not noticed"
    share = f"{100 * found['by_third']:.0f} / {100 * found['by_twentieth']:.0f} %"
    return f"{share}, {found['queries']:.1f}"


def main(command: str, *names: str) -> None:
    """Does what is asked, for the named explorers or for all."""
    keep_compiled_programs()
    chosen = names or zoo.names()
    {"measure": measure, "power": power}.get(command, lambda _: table())(chosen)


if __name__ == "__main__":
    main(*sys.argv[1:])
