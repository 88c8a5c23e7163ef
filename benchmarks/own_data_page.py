"""Writes the tables of networks.md and item-banks.md from docs/data/own-data.json.

python benchmarks/own_data_page.py [docs]
"""

import json
import re
import sys
from pathlib import Path

PAGES = {"child": "networks.md", "bank": "item-banks.md"}


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
    return "\n".join(
        [
            *lines,
            "",
            f"{record['episodes']} episodes, the same for all. With every query made, "
            f"{record['best_attainable']:.3f} of the answers are right. Training took "
            f"{record['trained']['seconds'] / 60:.0f} minutes on two busy cores.",
        ]
    )


def _number(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"


def _ratio(found: dict) -> str:
    if "ratio" not in found:
        return "–"
    low, high = found["interval"]
    return f"{found['ratio']:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Replaces what stands between the comments."""
    docs = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    record = json.loads((docs / "data" / "own-data.json").read_text(encoding="utf-8"))
    for name, found in record.items():
        page = docs / "bring-your-own" / PAGES[name]
        text = page.read_text(encoding="utf-8")
        block = f"<!-- {name} -->\n{page_table(found)}\n<!-- /{name} -->"
        pattern = rf"<!-- {name} -->.*?<!-- /{name} -->"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.S)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
