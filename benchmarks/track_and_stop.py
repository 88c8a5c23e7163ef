"""How many queries Track-and-Stop needs, over T* ln(1/delta), as delta falls.

On fixed bandits the mean number of queries of an asymptotically optimal method falls
towards T* ln(1/delta), which is less than any method that is right on every task
needs in the limit (Garivier and Kaufmann 2016, Theorem 14). Measures both thresholds
and both trackings, writes JSON, and draws the figure of docs/baselines.md from it:

    python benchmarks/track_and_stop.py docs/data/track_and_stop.json \
        docs/figures/track_and_stop.svg
"""

import json
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.artifact import provenance
from icpe.core.files import replacing
from icpe.core.request import OperatingPoint
from icpe.evaluate.plots import save_figure
from icpe.explorers import make_explorer
from icpe.families import BernoulliBandit, GaussianBandit
from icpe.play.rollout import rollout
from icpe.theory.characteristic_time import (
    bernoulli_characteristic_time,
    gaussian_characteristic_time,
)
from icpe.theory.divergences import kl_error_prob

EPISODES = 1000
HORIZON = 2500
ERROR_PROBS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
NOISE = 0.5
BANDITS = {
    "Gaussian": (
        GaussianBandit(num_arms=4, noise=NOISE, horizon=HORIZON),
        (1.0, 0.6, 0.5, 0.2),
    ),
    "Bernoulli": (BernoulliBandit(num_arms=4, horizon=HORIZON), (0.8, 0.5, 0.4, 0.2)),
}


def main(data: Path, figure: Path) -> None:
    """Measures what is not in the file yet, and draws."""
    cells = json.loads(data.read_text()) if data.exists() else {}
    for law, (family, means) in BANDITS.items():
        for tracking in ("D", "C"):
            for threshold in ("heuristic", "valid"):
                cell = f"{law} {tracking} {threshold}"
                if cell in cells:
                    continue
                start = time.perf_counter()
                points = _points(law, family, means, tracking, threshold)
                cells[cell] = {
                    "law": law,
                    "means": means,
                    "tracking": tracking,
                    "threshold": threshold,
                    "episodes": EPISODES,
                    "points": points,
                    **provenance(seconds=round(time.perf_counter() - start, 1)),
                }
                with replacing(data) as temporary:
                    temporary.write_text(json.dumps(cells, indent=1) + "\n")
                ratios = [round(point["ratio"], 3) for point in points]
                print(cell, ratios, flush=True)
    save_figure(draw(cells), figure)


def _points(law, family, means, tracking, threshold) -> list[dict[str, float]]:
    explorer = make_explorer(
        "track-and-stop", family, tracking=tracking, threshold=threshold
    )
    task = jnp.asarray(means)
    if law == "Gaussian":
        best_time = float(gaussian_characteristic_time(task, NOISE).time)
    else:
        best_time = float(bernoulli_characteristic_time(task).time)

    @eqx.filter_jit
    def play(point, keys):
        tasks = jnp.broadcast_to(task, (EPISODES, *task.shape))
        return rollout(explorer, family, point, keys=keys, tasks=tasks).ending

    points = []
    for error_prob in ERROR_PROBS:
        point = OperatingPoint.at(HORIZON, error_prob=error_prob)
        ending = jax.device_get(play(point, jr.split(jr.key(1), EPISODES)))
        queries = np.asarray(ending.num_queries, float)
        scale = best_time * np.log(1 / error_prob)
        points.append(
            {
                "error_prob": error_prob,
                "mean_queries": float(queries.mean()),
                "standard_error": float(queries.std() / np.sqrt(EPISODES)),
                "error_rate": float(np.mean(~ending.correct)),
                "ratio": float(queries.mean() / scale),
                "lower_bound_ratio": float(
                    best_time * kl_error_prob(error_prob) / scale
                ),
            }
        )
    return points


def draw(cells):
    """The ratios against 1/delta, one panel for each law."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots(1, len(BANDITS), sharey=True)
    colors = {"heuristic": "#0072B2", "valid": "#D55E00"}
    for panel, law in zip(axes, BANDITS, strict=True):
        for cell in cells.values():
            if cell["law"] != law:
                continue
            panel.plot(
                [1 / point["error_prob"] for point in cell["points"]],
                [point["ratio"] for point in cell["points"]],
                color=colors[cell["threshold"]],
                linestyle="-" if cell["tracking"] == "D" else "--",
                marker="o" if cell["tracking"] == "D" else "s",
                markersize=4,
                label=f"{cell['threshold']} threshold, {cell['tracking']}-tracking",
            )
        panel.axhline(1.0, color="#444444", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_ylim(0, None)
        panel.set_xlabel("1 / delta")
        panel.set_title(f"{law} arms", fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean queries / (T* ln(1/delta))")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
