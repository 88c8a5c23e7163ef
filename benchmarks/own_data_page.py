"""Writes the tables of networks.md and item-banks.md from docs/data/own-data.json.

python benchmarks/own_data_page.py [docs]
"""

import json
import re
import sys
from pathlib import Path

PAGES = {"child": "networks.md", "pathfinder": "networks.md", "bank": "item-banks.md"}
PAGES["bank-cpu"] = PAGES["bank"]
GREEDY = "information-gain"


def page_table(record: dict) -> str:
    """A row for each accuracy: ours, each rule, and the ratios with their intervals."""
    rules = list(record["levels"][0]["rules"])
    head = " | ".join(f"`{rule}` | ratio" for rule in rules)
    lines = [
        f"| accuracy | trained | {head} |",
        "|---|---:|" + "---:|---|" * len(rules),
    ]
    for level in record["levels"]:
        cells = [f"{level['accuracy']:.3f}", _number(level["ours"])]
        for rule in rules:
            found = level["rules"][rule]
            cells += [_number(found["cost"]), _ratio(found)]
        lines.append(f"| {' | '.join(cells)} |")
    took = record["decision_ms"]
    return "\n".join(
        [
            *lines,
            "",
            f"Trained for {record['trained']['iterations']} iterations on "
            f"{_machine(record['trained']['device'])}; "
            f"{record['episodes']:,} cases, the same for all. With every query of the "
            f"horizon made, {record['best_attainable']:.3f} of the answers are right. "
            f"A decision takes {_time(took['ours'])} trained and "
            f"{_time(took[GREEDY])} by `{GREEDY}`, on one busy core.",
        ]
    )


def with_tables(text: str, record: dict) -> str:
    """A page with what stands between its comments replaced."""
    for name, found in record.items():
        block = f"<!-- {name} -->\n{page_table(found)}\n<!-- /{name} -->"
        pattern = rf"<!-- {name} -->.*?<!-- /{name} -->"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
    return text


def _number(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"


def _machine(device: str) -> str:
    return "a CPU" if device == "cpu" else f"an {device}"


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms"


def _ratio(found: dict) -> str:
    if "ratio" not in found:
        return "–"
    low, high = found["interval"]
    return f"{found['ratio']:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Replaces what stands between the comments of both pages."""
    docs = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    record = json.loads((docs / "data" / "own-data.json").read_text(encoding="utf-8"))
    for name in sorted(set(PAGES.values())):
        page = docs / "bring-your-own" / name
        text = with_tables(page.read_text(encoding="utf-8"), record)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
