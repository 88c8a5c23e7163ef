"""Gives explorers of the zoo their guard, and measures what it notices.

python benchmarks/guards.py measure [NAME ..]    writes guards into the zoo's files
python benchmarks/guards.py power [NAME ..]      writes docs/data/guards.json
python benchmarks/guards.py table                writes the table in the docs

--episodes N, --fresh N, --changed N and --units N say how many episodes each
measurement has: of the guard, of the family itself, of each changed family, of the
family in other units. With --fresh 0 or --changed 0 these stay as they were counted
before.
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
from noise_alarms import first_noise_alarm

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.outcome_law import AbstractOutcomeLaw, NumberLaw
from icpe.cli.runtime import keep_compiled_programs
from icpe.core.arrays import Scalar
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import OperatingPoint
from icpe.evaluate.answers import Played
from icpe.evaluate.guard import GuardStage, count_alarms, measure_guard

DOCS = Path(__file__).parents[1] / "docs"
RECORD = DOCS / "data" / "guards.json"
PAGE = DOCS / "certificates.md"
EPISODES = 4096
FRESH = 20_000
CHANGED = 2048
IN_OTHER_UNITS = 8192
"""Sessions, of which 99 % are to be noticed by the third query."""
LONGEST = 20
"""Queries within which an alarm is awaited."""
SEED = 11
UNITS = "units x 10"


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
        again: whether a query that is repeated gets its first answer again.
        words: values by entry that are no numbers.
        samples: from which the mean answer is taken.
    """

    family: AbstractTaskFamily
    scale: Scalar
    shift: Scalar
    noise: Scalar
    shuffled: Scalar
    mixed: Scalar
    again: Scalar
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
        key = jnp.where(self.again > 0, jr.fold_in(task_key, query), key)
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
    values = dict.fromkeys(("shift", "shuffled", "mixed", "again"), 0.0)
    values |= {"scale": 1.0, "noise": 1.0} | change
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
        "first answers told again": {"again": 1.0},
    }
    if not isinstance(law, NumberLaw):
        return wrong_answers
    numbers = law.chance[..., -1].mean(axis=(0, 1)) > 1e-3  # others are words
    width = float(np.sqrt(np.median(law.within[..., numbers])))
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


def power(names, fresh: int, episodes: int, units: int) -> None:
    """Counts false alarms and alarms in changed families."""
    for name in names:
        artifact = zoo.load(name)
        if artifact.guard is None:
            continue
        if fresh:
            alarms = _false_alarms(artifact, fresh)
            _keep(name, {"fresh": fresh, "alarms": alarms})
        if not episodes:
            continue
        rows = {}
        for word, change in changes(artifact).items():
            number = units if word == UNITS else episodes
            rows[word] = _noticed(artifact, changed(artifact, **change), number)
            print(name, word, rows[word], flush=True)
        _keep(name, {"changed": episodes, "noticed": rows})


def _false_alarms(artifact: Artifact, episodes: int) -> list[int]:
    """At each operating point, in sessions of the family itself."""
    assert artifact.guard is not None
    if artifact.family.any_units() is None:
        return count_alarms(artifact, artifact.guard, episodes, seed=SEED)
    points = GuardStage(artifact, SEED).points("fresh", episodes)
    return [
        sum(int(np.isfinite(_first_alarm(artifact, it)).sum()) for it in chunks)
        for chunks in points
    ]


def _first_alarm(artifact: Artifact, played: Played) -> Float[np.ndarray, "episodes"]:
    """As sessions raise it, which in units of one's own look at the noise as well."""
    guard, known = artifact.guard, artifact.family.any_units()
    assert guard is not None
    first = played.scores(guard.law).first_alarm(guard.limits)
    return (
        first if known is None else np.minimum(first, first_noise_alarm(known, played))
    )


def _keep(name: str, found: dict[str, Any]) -> None:
    """Adds what was found to the record."""
    print(name, found, flush=True)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record[name] = record.get(name, {}) | found
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _noticed(artifact, family, episodes: int) -> dict[str, float | None]:
    """Share of sessions with an alarm, by the third query, and mean queries to it.

    `by_third_number` is the share by the third answer that has a number in it, among
    the sessions that have three in their first twenty: a query may reveal nothing.
    `nothing_by_third` is the share of sessions whose first three answers have none.
    `before_the_end` is the share of sessions at the certified price with an alarm.
    """
    stage = GuardStage(artifact, SEED, family)
    *_, chunks = stage.points("power", episodes)
    first, numbers, length = [], [], []
    for played in chunks:
        alarms = _first_alarm(artifact, played)
        first.append(np.where(alarms <= LONGEST, alarms, np.inf))
        told = artifact.guard.law.is_number(
            played.outcomes.reshape(-1, played.outcomes.shape[-1])
        )
        made = np.arange(played.queries.shape[1]) < played.length[:, None]
        numbers.append(told.any(axis=1).reshape(made.shape) & made)
        length.append(played.length)
    first, length = np.concatenate(first), np.concatenate(length)
    numbers = np.concatenate(numbers)[:, :LONGEST]
    enough = numbers.sum(axis=1) >= 3
    third = 1 + (numbers.cumsum(axis=1) >= 3).argmax(axis=1)
    by_number = np.mean(first[enough] <= third[enough]) if enough.any() else None
    caught = np.isfinite(first)
    return {
        "by_third_number": None if by_number is None else float(by_number),
        "nothing_by_third": float(np.mean(~numbers[:, :3].any(axis=1))),
        "by_third": float(np.mean(first[length >= 3] <= 3)),
        "by_twentieth": float(caught.mean()),
        "queries": float(first[caught].mean()) if caught.any() else None,
        "before_the_end": _before_the_end(artifact, stage, episodes),
    }


def _before_the_end(artifact, stage: GuardStage, episodes: int) -> float:
    """Share of sessions at the price of the first certificate with an alarm."""
    price = artifact.certificates[0]["price"]
    horizon = stage.spec.horizon
    cut = price if stage.one_set else None
    asked = {"budget": horizon} if stage.one_set else {"price": price}
    point = OperatingPoint.at(horizon, **asked)
    key = jr.fold_in(jr.key(SEED), 1)
    found = [
        np.isfinite(_first_alarm(artifact, played.until(cut)))
        for played in stage.play(point, episodes, key)
    ]
    return float(np.concatenate(found).mean())


def table() -> None:
    """Writes the tables between their marks."""
    record = json.loads(RECORD.read_text())
    text = _between("guards", _all_changes(record), PAGE.read_text())
    PAGE.write_text(_between("units", _other_units(record), text))


def _between(name: str, rows: list[str], text: str) -> str:
    """The text with other rows between the marks of that name."""
    mark, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = text.split(mark)
    after = rest.split(end)[1]
    return before + mark + "\n" + "\n".join(rows) + "\n" + end + after


def _other_units(record: dict[str, Any]) -> list[str]:
    """What becomes of answers ten times as large, where answers are numbers."""
    rows = [
        "| explorer | by the third query | nothing revealed by then | by the third "
        "answer with a number | before the end, at the certified price |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, found in sorted(record.items()):
        it = found.get("noticed", {}).get(UNITS, {})
        if it.get("by_third_number") is None or "before_the_end" not in it:
            continue  # its answers are words
        keys = ("by_third", "nothing_by_third", "by_third_number", "before_the_end")
        shares = " | ".join(f"{100 * it[key]:.1f} %" for key in keys)
        rows.append(f"| `{name}` | {shares} |")
    return rows


def _all_changes(record: dict[str, Any]) -> list[str]:
    """False alarms, and what is noticed of each change."""
    words = list(
        dict.fromkeys(w for r in record.values() for w in r.get("noticed", {}))
    )
    rows = [
        "| explorer | false alarms, worst | of | " + " | ".join(words) + " |",
        "| --- | ---: | ---: |" + " ---: |" * len(words),
    ]
    for name, found in sorted(record.items()):
        worst = max(found["alarms"]) / found["fresh"]
        cells = [_cell(found.get("noticed", {}).get(word)) for word in words]
        first = f"| `{name}` | {100 * worst:.2f} % | {found['fresh']:,} | "
        rows.append(first + " | ".join(cells) + " |")
    return rows


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
    parser.add_argument("--changed", type=int, default=CHANGED)
    parser.add_argument("--units", type=int, default=IN_OTHER_UNITS)
    args = parser.parse_args()
    keep_compiled_programs()
    names = args.names or zoo.names()
    if args.command == "measure":
        measure(names, args.episodes)
    elif args.command == "power":
        power(names, args.fresh, args.changed, args.units)
    else:
        table()


if __name__ == "__main__":
    main()
