"""Writes the table of docs/bring-your-own/tables.md from docs/data/tables.json.

python benchmarks/tables_page.py [docs]
"""

import json
import re
import sys
from pathlib import Path

_WORDS = {
    "ours": "`ActiveClassifier`",
    "fixed order": "the same posterior, fixed order",
    "greedy, independent features": "greedy, independent features",
    "forest, as many": "random forest, as many features",
    "forest, all features": "random forest, all features",
}


def page_table(record: dict) -> str:
    """One row a method, accuracy and mean number of features for each table."""
    names = list(record)
    head = " | ".join(
        f"{name}: accuracy | features of {record[name]['features']}" for name in names
    )
    lines = [f"| | {head} |", "|---|" + "---:|---:|" * len(names)]
    for method, words in _WORDS.items():
        found = [record[name]["methods"][method] for name in names]
        cells = " | ".join(
            f"{it['accuracy']:.3f} | {it['queries']:.1f}" for it in found
        )
        lines.append(f"| {words} | {cells} |")
    seconds = " and ".join(f"{record[name]['fit_seconds']:.0f} s" for name in names)
    return "\n".join([*lines, "", f"A fit took {seconds} on two busy cores."])


def main() -> None:
    """Replaces what stands between the comments."""
    docs = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    record = json.loads((docs / "data" / "tables.json").read_text(encoding="utf-8"))
    page = docs / "bring-your-own" / "tables.md"
    text = page.read_text(encoding="utf-8")
    block = f"<!-- tables -->\n{page_table(record)}\n<!-- /tables -->"
    text = re.sub(
        r"<!-- tables -->.*?<!-- /tables -->", lambda _: block, text, flags=re.S
    )
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
