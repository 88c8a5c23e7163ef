"""Gives explorers of the zoo their guard, and measures what it notices.

python benchmarks/guards.py measure [NAME ..]    writes guards into the zoo's files
python benchmarks/guards.py power [NAME ..]      writes docs/data/guards.json
python benchmarks/guards.py table                writes the table in the docs

--episodes N and --fresh N say how many episodes each measurement has; with --fresh 0
false alarms stay as they were counted before.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.outcome_law import AbstractOutcomeLaw, NumberLaw
from icpe.cli.runtime import keep_compiled_programs
from icpe.core.arrays import Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.guard import GuardStage, count_alarms, measure_guard

DOCS = Path(__file__).parents[1] / "docs"
RECORD = DOCS / "data" / "guards.json"
PAGE = DOCS / "certificates.md"
EPISODES = 4096
FRESH = 20_000
SEED = 11
MARK, END = "<!-- guards -->", "<!-- /guards -->"


class Changed(AbstractTaskFamily):
    """A family whose answers are scaled, shifted, more or less noisy, or of another.

    What is changed is an array, so that all changes share one compiled program.

    Attributes:
        family: the explorer's own.
        scale: what its answers are multiplied by.
        shift: what is added to them.
        noise: what their distance to the mean answer is multiplied by.
        shuffled: whether queries get one another's answers.
        mixed: whether every query is answered by another task.
        words: values by entry that are no numbers.
        samples: from which the mean answer is taken.
    """

    family: AbstractTaskFamily
    scale: Scalar
    shift: Scalar
    noise: Scalar
    shuffled: Scalar
    mixed: Scalar
    words: Float[Array, "words entries"]
    samples: int = eqx.field(static=True, default=16)

    @property
    def spec(self):
        return self.family.spec

    def sample_task(self, *, key):
        return self.family.sample_task(key=key), key

    def reset(self, task, *, key):
        return self.family.reset(task[0], key=key)

    def step(self, state, query, task, *, key):
        own, task_key = task
        order = jr.permutation(task_key, self.spec.num_queries)
        asked = jnp.where(self.shuffled > 0, order[query], query)
        other = self.family.sample_task(key=jr.fold_in(task_key, query))
        answering = jax.tree.map(
            lambda one, two: jnp.where(self.mixed > 0, two, one), own, other
        )

        def answer(key):
            return self.family.step(state, asked, answering, key=key)

        found = answer(key)
        others = jax.vmap(lambda key: answer(key).outcome)(
            jr.split(jr.fold_in(key, 1), self.samples)
        )
        center = others.mean(axis=0)
        apart = found.outcome - center
        outcome = jnp.where(self.noise == 1, found.outcome, center + self.noise * apart)
        outcome = self.scale * outcome + self.shift
        outcome = jnp.where(self.is_word(found.outcome), found.outcome, outcome)
        return dataclasses.replace(found, outcome=outcome)

    def is_word(self, outcome):
        """Flags, and values that say that nothing was revealed, have no units."""
        return jnp.any(self.words == outcome, axis=0)

    def hypothesis(self, task):
        return self.family.hypothesis(task[0])


def changed(artifact: Artifact, **change: float) -> Changed:
    """The explorer's family with one thing changed."""
    values = {"scale": 1.0, "shift": 0.0, "noise": 1.0, "shuffled": 0.0, "mixed": 0.0}
    values.update(change)
    arrays: dict[str, Any] = {name: jnp.asarray(x) for name, x in values.items()}
    family = artifact.family.with_data()
    law = _law(artifact)
    words = law.words if isinstance(law, NumberLaw) else np.zeros((0, 1))
    return Changed(family, words=jnp.asarray(words), **arrays)


def _law(artifact: Artifact) -> AbstractOutcomeLaw:
    assert artifact.guard is not None
    return artifact.guard.law


def changes(artifact: Artifact) -> dict[str, dict[str, Any]]:
    """What is done to the answers of a family."""
    law = _law(artifact)
    wrong_answers = {
        "answers shuffled": {"shuffled": 1.0},
        "no such hypothesis": {"mixed": 1.0},
    }
    if not isinstance(law, NumberLaw):
        return wrong_answers
    width = float(np.sqrt(np.median(law.within)))
    return {
        "units x 10": {"scale": 10.0},
        "units x 0.1": {"scale": 0.1},
        "shift of 5 noise widths": {"shift": 5.0 * width},
        "noise doubled": {"noise": 2.0},
        "noise halved": {"noise": 0.5},
    } | wrong_answers


def measure(names, episodes: int) -> None:
    """Writes guards into the files of the zoo."""
    for name in names:
        artifact = zoo.load(name)
        guard = measure_guard(artifact, episodes=episodes)
        dataclasses.replace(artifact, guard=guard).save(zoo.path(name))
        print(name, None if guard is None else guard.to_dict(), flush=True)


def power(names, fresh: int) -> None:
    """Counts false alarms and alarms in changed families."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names:
        artifact = zoo.load(name)
        if artifact.guard is None:
            continue
        found = record.get(name, {})
        if fresh:
            alarms = count_alarms(artifact, artifact.guard, fresh, seed=SEED)
            found |= {"fresh": fresh, "alarms": alarms}
            print(name, found, flush=True)
        rows = {}
        for word, change in changes(artifact).items():
            rows[word] = _noticed(artifact, changed(artifact, **change))
        record[name] = found | {"noticed": rows}
        print(name, record[name], flush=True)
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _noticed(artifact, family) -> dict[str, float | None]:
    """Share of sessions with an alarm, by the third query, and mean queries to it.

    `by_third_number` is the share by the third answer that has a number in it, among
    the sessions that have three in their first twenty: a query may reveal nothing.
    """
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
    steps = min(20, played.queries.shape[1])
    tells = np.stack(
        [guard.law.is_number(played.outcomes[:, t]).any(axis=1) for t in range(steps)]
    ).T
    tells &= np.arange(steps) < played.length[:, None]
    three = tells.sum(axis=1) >= 3
    third = 1 + (tells.cumsum(axis=1) >= 3).argmax(axis=1)
    told = float(np.mean(first[three] <= third[three])) if three.any() else None
    return {
        "by_third_number": told,
        "by_third": float(np.mean(first <= 3)),
        "by_twentieth": float(caught.mean()),
        "queries": float(first[caught].mean()) if caught.any() else None,
    }


def table() -> None:
    """Writes the table between its marks."""
    record = json.loads(RECORD.read_text())
    words = list(dict.fromkeys(w for r in record.values() for w in r["noticed"]))
    rows = [
        "| explorer | false alarms, worst | of | " + " | ".join(words) + " |",
        "| --- | ---: | ---: |" + " ---: |" * len(words),
    ]
    for name, found in sorted(record.items()):
        worst = max(found["alarms"]) / found["fresh"]
        cells = [_cell(found["noticed"].get(word)) for word in words]
        first = f"| `{name}` | {100 * worst:.2f} % | {found['fresh']:,} | "
        rows.append(first + " | ".join(cells) + " |")
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


def main() -> None:
    """Does what is asked, for the named explorers or for all."""
    parser = argparse.ArgumentParser(description="Guards of the explorers of the zoo.")
    parser.add_argument("command", choices=("measure", "power", "table"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--fresh", type=int, default=FRESH)
    args = parser.parse_args()
    keep_compiled_programs()
    names = args.names or zoo.names()
    if args.command == "measure":
        measure(names, args.episodes)
    elif args.command == "power":
        power(names, args.fresh)
    else:
        table()


if __name__ == "__main__":
    main()
