"""Measures an explorer of images on its test images, and writes it into the docs.

    python benchmarks/pictures.py FILE [docs]

FILE is trained and certified by the commands of docs/tasks/patches.md. Writes
docs/data/pictures.json, and the tables of that page from it.

Prices belong to error probabilities by the operating table, which is of other images.
Every test image is played once at each price. Nothing is chosen by what comes out.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import jax.random as jr
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.core.errors import OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.play.rollout import run_cases
from icpe.theory.intervals import clopper_pearson, mean_interval

ERROR_PROBS = (0.3, 0.2, 0.1, 0.05)
BUDGETS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
"""Those up to the horizon are shown."""
PAGE = "tasks/patches.md"


def measure(artifact: Artifact) -> dict[str, Any]:
    """The certificate, and what happens on the test images at other requests."""
    (record,) = artifact.certificates
    certificate = Certificate.from_dict(record)
    assert certificate.price is not None and artifact.table is not None
    rows = []
    for error_prob in ERROR_PROBS:
        try:
            price = artifact.table.row_for(error_prob).price
        except OperatingPointError:
            continue
        point = artifact.operating_point(price=price)
        rows.append({"error_prob": error_prob} | _played(artifact, point))
    budgets = [
        {"budget": budget} | _played(artifact, artifact.operating_point(budget=budget))
        for budget in BUDGETS
        if budget <= artifact.family.spec.horizon
    ]
    names = ("seconds", "iterations", "ended", "device", "jax")
    return {
        "trained": {name: artifact.provenance.get(name) for name in names},
        "training": dict(artifact.training),
        "certificate": record,
        "certified": _played(artifact, artifact.point_at(certificate.price)),
        "rows": rows,
        "budgets": budgets,
    }


def _played(artifact: Artifact, point: OperatingPoint) -> dict[str, Any]:
    """Right answers and queries on the test images, with intervals of 95 %."""
    cases = artifact.family.held_out_cases()
    ending = run_cases(artifact.explorer, artifact.family, point, cases, key=jr.key(0))
    right, queries = np.asarray(ending.correct), np.asarray(ending.num_queries)
    accuracy, mean = clopper_pearson(right.sum(), len(right)), mean_interval(queries)
    return {
        "price": float(point.price),
        "images": len(right),
        "right": int(right.sum()),
        "accuracy": [float(accuracy.low), float(accuracy.high)],
        "queries": float(queries.mean()),
        "queries_interval": [float(mean.low), float(mean.high)],
        "median": int(np.quantile(queries, 0.5, method="inverted_cdf")),
        "most": int(queries.max()),
    }


def page_tables(record: dict[str, Any]) -> str:
    """What was certified, and the tables of other requests."""
    it, at = record["certificate"], record["certified"]
    shown = "certified" if it["certified"] else "**not** certified"
    low, high = at["queries_interval"]
    lines = [
        f"At error probability {it['error_prob']:g} it is {shown} with confidence "
        f"{it['confidence']:g}: {at['right']:,} of {at['images']:,} test images were "
        f"named right, which alone shows an accuracy of at least "
        f"{np.floor(1e4 * it['lower_bound']) / 1e4:.4f}. It uncovered "
        f"{at['queries']:.2f} patches on average [{low:.2f}, {high:.2f}], {at['most']} "
        "at most.",
        "",
        "| error probability | accuracy | patches | median | most |",
        "|---|---|---|---:|---:|",
    ]
    certified = {"error_prob": it["error_prob"]} | at
    rows = sorted([*record["rows"], certified], key=lambda row: -row["error_prob"])
    for row in rows:
        name = f"{row['error_prob']:g}"
        if row is certified and it["certified"]:
            name += ", certified"
        low, high = row["queries_interval"]
        cells = [name, _accuracy(row), f"{row['queries']:.2f} [{low:.2f}, {high:.2f}]"]
        cells += [str(row["median"]), str(row["most"])]
        lines.append(f"| {' | '.join(cells)} |")
    budgets = record["budgets"]
    lines += [
        "",
        f"| patches | {' | '.join(str(row['budget']) for row in budgets)} |",
        f"|---|{'---|' * len(budgets)}",
        f"| accuracy | {' | '.join(_share(row) for row in budgets)} |",
        "",
        "Intervals are of 95 %, over the test images. Prices were chosen on other "
        f"images. Training took {record['trained']['seconds'] / 60:.0f} minutes on one "
        f"core that it shared, {record['trained']['iterations']} iterations.",
    ]
    return "\n".join(lines)


def _share(row: dict[str, Any]) -> str:
    return f"{row['right'] / row['images']:.3f}"


def _accuracy(row: dict[str, Any]) -> str:
    low, high = row["accuracy"]
    return f"{_share(row)} [{low:.3f}, {high:.3f}]"


def write_page(record: dict[str, Any], docs: Path) -> None:
    """Replaces what stands between the comments."""
    page = docs / PAGE
    text = page.read_text(encoding="utf-8")
    block = f"<!-- pictures -->\n{page_tables(record)}\n<!-- /pictures -->"
    pattern = r"<!-- pictures -->.*?<!-- /pictures -->"
    page.write_text(re.sub(pattern, lambda _: block, text, flags=re.S), "utf-8")


def main() -> None:
    """Measures, and writes the record and the page."""
    parser = argparse.ArgumentParser(description="Measure an explorer of images.")
    parser.add_argument("file", type=Path)
    parser.add_argument("docs", type=Path, nargs="?", default=Path("docs"))
    args = parser.parse_args()
    record = measure(Artifact.load(args.file))
    text = json.dumps(record, indent=1) + "\n"
    (args.docs / "data" / "pictures.json").write_text(text, encoding="utf-8")
    write_page(record, args.docs)


if __name__ == "__main__":
    main()
