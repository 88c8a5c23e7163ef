"""Draws how the paper's dual variable settles, from a record of a training.

    python benchmarks/dual_figure.py docs/data/paper-gaussian-4.json \\
        docs/figures/dual-variable.svg
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

plt.rcParams["svg.hashsalt"] = "icpe"  # equal records give equal files


def main(record: Path, figure: Path) -> None:
    """Cost, accuracy and queries against iterations, one above the other."""
    values = json.loads(record.read_text())
    history, asked = values["history"], values["training"]
    rows = (
        ("cost", "price of a query c", None),
        ("accuracy", "accuracy", 1.0 - asked["error_prob"]),
        ("mean_queries", "queries", None),
    )
    drawing, axes = plt.subplots(
        len(rows), sharex=True, figsize=(6.4, 5.4), layout="constrained"
    )
    start = asked["dual_start"] * asked["num_iterations"]
    for axis, (name, label, goal) in zip(axes, rows, strict=True):
        axis.plot(history["iteration"], history[name], lw=1.5)
        axis.axvline(start, color="0.7", lw=1, ls=":")
        if goal is not None:
            axis.axhline(goal, color="0.4", lw=1, ls="--")
            axis.annotate(
                f"asked for: {goal:g}",
                (history["iteration"][-1], goal),
                textcoords="offset points",
                xytext=(0, -12),
                ha="right",
                color="0.4",
            )
        axis.set_ylabel(label)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(bottom=0)
    axes[0].annotate(
        "dual updates begin",
        (start, 0.0),
        textcoords="offset points",
        xytext=(4, 6),
        color="0.4",
    )
    axes[-1].set_xlabel("iterations")
    figure.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(figure, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
