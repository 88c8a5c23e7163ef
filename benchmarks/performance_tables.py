"""Writes the tables of docs/performance.md and docs/scale.md from docs/data.

Each table stands between two comments and replaces what stood there; a table whose
measurement is missing is left as it is.

    python benchmarks/performance_tables.py [docs]
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path


def speed_table(record: dict, race: dict) -> str:
    """Both learners, one row each, and what was measured on what.

    The ratio of speeds stands beside the times to equal quality, which are what a
    user waits for.
    """
    paper = record["paper"]
    steps = paper["gradient_steps"]
    rows = [
        ("learner", "rollout", "gradient steps", "update", "episodes / s", "compile"),
        ("---",) + 5 * ("---:",),
        (
            "universal",
            f"{record['rollout_ms']:.1f} ms",
            f"1 x {record['gradient_ms']:.1f} ms",
            f"{record['update_ms']:,.1f} ms",
            _rate(record["episodes_per_second"]),
            f"{record['compile_seconds']:.0f} s",
        ),
        (
            "the paper's",
            f"{paper['rollout_ms']:.1f} ms",
            f"{steps} x {paper['gradient_ms']:.1f} ms",
            f"{paper['update_ms']:,.0f} ms",
            _rate(paper["episodes_per_second"]),
            f"{paper['compile_seconds']:.0f} s",
        ),
    ]
    sentence = (
        f"{record['episodes']} episodes of {record['steps']} steps, width "
        f"{record['width']}, {record['layers']} layers, on {record['device']} (jax "
        f"{record['jax']}). Ours trains **{record['episodes_ratio']:.0f} times** as "
        f"many episodes per second; to equal quality {_times(race)}. A session with a "
        f"history of {record['steps']} asks in {record['ask_ms']:.3f} ms and is told "
        f"in {record['tell_ms']:.2f} ms; rollouts make "
        f"{record['rollout_steps_per_second']:,.0f} steps per second."
    )
    return f"{_table(rows)}\n\n{sentence}"


def _times(race: dict) -> str:
    """Seconds to the goal of each family, ours and the paper's."""
    seconds: dict[str, dict[str, str]] = {}
    for finish in race["finishes"]:
        name = finish["family"].partition("(")[0]
        time = f"{finish['seconds']:.0f} s"
        reached = time if finish["reached"] else f"more than {time}"
        seconds.setdefault(name, {})[finish["learner"]] = reached
    each = [
        f"{both['universal']} against {both['paper']} on `{name}`"
        for name, both in seconds.items()
    ]
    return f"it took {' and '.join(each)} ([race](#a-race-to-the-papers-quality))"


def race_table(record: dict, race: dict) -> str:
    """One row for each learner and family."""
    rows = [
        ("family", "goal", "learner", "reached", "seconds", "iterations", "there with"),
        ("---", "---", "---", "---") + 3 * ("---:",),
    ]
    for finish in record["finishes"]:
        accuracy, queries = finish["goal"]
        rows.append(
            (
                finish["family"],
                f"{accuracy:g} with {queries:g} queries",
                finish["learner"],
                "yes" if finish["reached"] else "no",
                f"{finish['seconds']:.0f}",
                f"{finish['iterations']:,}",
                f"{finish['accuracy']:.3f} with {finish['mean_queries']:.2f}",
            )
        )
    return f"{_table(rows)}\n\nOn {record['device']} (jax {record['jax']})."


def service_table(record: dict, _: dict) -> str:
    """What the service was asked to do, and how long it took."""
    rows: list[tuple[str, ...]] = [
        ("what", "at a steady rate", "as fast as it can", "aim"),
        ("---", "---:", "---:", "---:"),
    ]
    both = (record["paced"], record["unpaced"])
    people = both[0]["sessions_at_once"]
    pairs = [f"{it['pairs_per_second']:,.0f}" for it in both]
    name = f"ask and tell pairs per second, {people} sessions at once"
    rows.append((name, *pairs, "200"))
    for quantile, name, aim in (("p50", "median", ""), ("p99", "99 %", "250 ms")):
        times = [f"{it['request_ms'][quantile]:.0f} ms" for it in both]
        rows.append((f"one request, {name}", *times, aim))
    cost = [f"{it['service_cpu_ms_a_pair']:.1f} ms" for it in both]
    rows.append(("CPU time of the service, a pair", *cost, ""))
    if "memory_bytes" in record:
        name = f"memory with {record['open_sessions']:,} open sessions"
        memory = f"{record['memory_bytes'] / 1e9:.2f} GB"
        rows.append((name, memory, "", "1.5 GB"))
    return (
        f"{_table(rows)}\n\n`{record['model']}`, {record['workers']} workers on "
        f"{record['storage']}, {record['cores']} cores, load generator included, "
        f"{both[0]['seconds']:.0f} s after warming up. At a steady rate every pair has "
        "its appointed time, and late requests count from there."
    )


def first_explorer_table(record: dict, _: dict) -> str:
    """A section on CPU seconds of every step, with an empty cache and a full one."""
    families = record["families"]
    names = [f"{name}, {cache}" for name in families for cache in ("empty", "warm")]
    rows = [("step", *names), ("---",) + ("---:",) * len(names)]
    columns = [each[cache] for each in families.values() for cache in ("empty", "warm")]
    steps = list(dict.fromkeys(step for it in columns for step in it["steps"]))
    rows += [
        (step, *(f"{it['steps'].get(step, 0.0):.1f}" for it in columns))
        for step in steps
    ]
    rows.append(("**in all**", *(f"**{it['cpu_seconds']:.0f}**" for it in columns)))
    commands = ", ".join(f"`{each['command']}`" for each in families.values())
    return (
        "## From a command to a file\n\n`python benchmarks/first_explorer.py "
        "docs/data/first-explorer.json` trains small families from nothing to the "
        "file, first with an empty cache of compiled programs and then again, and "
        f"books the CPU time of every step:\n\n{_table(rows)}\n\nCPU seconds of "
        f"{commands} on {_cores(record)} (jax "
        f"{record['jax']}); the cache of compiled programs is empty or warm."
    )


def update_table(record: dict, _: dict) -> str:
    """One update of each version, timed in one run."""
    (run,) = record["runs"]
    rows = [("version", "update", "compile"), ("---", "---:", "---:")]
    rows += [
        (name, f"{it['update_ms']:.0f} ms", f"{it['compile_seconds']:.0f} s")
        for name, it in run.items()
    ]
    one = next(iter(run.values()))
    return f"{_table(rows)}\n\nOn {one['device']} (jax {one['jax']})."


def goal_table(record: dict, _: dict) -> str:
    """Seconds to a judged explorer and to a goal, with an empty and a warm cache."""
    rows: list[tuple[str, ...]] = [
        ("cache", "learner", "first judged", "goal", "iterations", "there with"),
        ("---", "---") + 4 * ("---:",),
    ]
    for cache in ("empty", "warm"):
        for learner, name in (("ours", "universal"), ("paper", "the paper's")):
            found = record[cache][learner]
            judged = found.get("first_judged")
            seconds = f"{found['seconds']:.0f} s"
            rows.append(
                (
                    cache,
                    name,
                    "" if judged is None else f"{judged:.0f} s",
                    seconds if found["reached"] else f"not within {seconds}",
                    f"{found['iterations']}",
                    f"{found['accuracy']:.3f} with {found['mean_queries']:.2f}",
                )
            )
    run = record["empty"]
    return f"{_table(rows)}\n\nOn {run['device']} (jax {run['jax']})."


def processes_table(record: dict, _: dict) -> str:
    """What an iteration costs each process, beside what the cost model says."""
    rows: list[tuple[str, ...]] = [
        ("batch", "processes", "measured", "model", "measured / model"),
        ("---:",) * 5,
    ]
    for row in record["rows"]:
        ratio = row["cpu_ms"] / row["model_ms"]
        fitted = "" if row["processes"] > 2 else " (fitted)"
        rows.append(
            (
                f"{row['batch']}",
                f"{row['processes']}",
                f"{row['cpu_ms']:.1f} ms",
                f"{row['model_ms']:.1f} ms{fitted}",
                f"{ratio:.2f}",
            )
        )
    parts, first = record["parts_ms"], record["rows"][0]
    return (
        f"{_table(rows)}\n\nCPU time of one process in an iteration, the median of "
        f"chunks: {record['updates']} updates on a whole batch, horizon "
        f"{record['horizon']}, {first['parameters']:,} parameters, "
        f"{first['bytes_per_episode']} bytes an episode. All processes shared "
        f"{_cores(record)} of one machine (jax {record['jax']}), so this shows how the "
        "work of a process shrinks, not how much sooner a training ends. The model: "
        f"{parts['an_episode']:.2f} ms for each episode of a process, "
        f"{parts['own']:.1f} ms that more processes do not lessen, "
        f"{parts['messages']:.1f} ms for messages as soon as there are several."
    )


Tables = dict[str, tuple[Callable[[dict, dict], str], str]]
TABLES: Tables = {
    "speed": (speed_table, "race"),
    "speed-cpu": (speed_table, "race-cpu"),
    "race": (race_table, "race"),
    "race-cpu": (race_table, "race-cpu"),
    "service": (service_table, "service"),
    "first-explorer": (first_explorer_table, "first-explorer"),
    "update": (update_table, "update"),
    "time-to-goal": (goal_table, "time-to-goal"),
    "time-to-goal-cpu": (goal_table, "time-to-goal-cpu"),
}
"""How each table of docs/performance.md is made, and the race that it speaks of."""
SCALE_TABLES: Tables = {"processes": (processes_table, "processes")}
"""The same of docs/scale.md."""


def fill(text: str, name: str, table: str) -> str:
    """The page with a table between its two comments."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    filled, count = re.subn(
        pattern, lambda match: match[1] + table + "\n" + match[2], text, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"The page has no place for the table {name}.")
    return filled


def main(docs: Path) -> None:
    """Fills in every table that has been measured."""
    for name, tables in (("performance.md", TABLES), ("scale.md", SCALE_TABLES)):
        page = docs / name
        page.write_text(filled(page.read_text(), docs / "data", tables))


def filled(text: str, data: Path, tables: Tables = TABLES) -> str:
    """The page with every table that has been measured."""
    for name, (make, race) in tables.items():
        files = [data / f"{name}.json", data / f"{race}.json"]
        if all(file.exists() for file in files):
            records = [json.loads(file.read_text()) for file in files]
            text = fill(text, name, make(*records))
    return text


def _cores(record: dict) -> str:
    return "one core" if record["cores"] == 1 else f"{record['cores']} cores"


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2f}"


def _table(rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
