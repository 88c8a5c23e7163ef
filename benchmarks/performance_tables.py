"""Writes the tables of docs/performance.md from the measurements in docs/data.

Each table stands between two comments and replaces what stood there; a table whose
measurement is missing is left as it is.

    python benchmarks/performance_tables.py [docs]
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path


def speed_table(record: dict) -> str:
    """Both learners, one row each, and what was measured on what."""
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
        f"many episodes per second. A session with a history of {record['steps']} "
        f"asks in {record['ask_ms']:.3f} ms and is told in {record['tell_ms']:.2f} ms; "
        f"rollouts make {record['rollout_steps_per_second']:,.0f} steps per second."
    )
    return f"{_table(rows)}\n\n{sentence}"


def race_table(record: dict) -> str:
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


TABLES: dict[str, Callable[[dict], str]] = {
    "speed": speed_table,
    "speed-cpu": speed_table,
    "race": race_table,
    "race-cpu": race_table,
}


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
    page = docs / "performance.md"
    text = page.read_text()
    for name, make in TABLES.items():
        measured = docs / "data" / f"{name}.json"
        if measured.exists():
            text = fill(text, name, make(json.loads(measured.read_text())))
    page.write_text(text)


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2f}"


def _table(rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
