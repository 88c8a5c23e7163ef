"""What the explorer of the stochastic bandits does on average, and Track-and-Stop."""

import dataclasses
from typing import Any

import jax.random as jr
import numpy as np

from icpe.core.family import AbstractTaskFamily
from icpe.core.request import Request
from icpe.evaluate.plots import Figure
from icpe.studies.figures import LOOKS, Panel, Series, named, panels_figure
from icpe.studies.measures import AnyExplorer, Baseline
from icpe.studies.models import Bench
from icpe.studies.statistics.policy import inverse_gap_proportions, policy_statistics
from icpe.studies.statistics.tasks import sample_tasks
from icpe.studies.stochastic_bandits import (
    ERROR_PROB,
    among_others,
    bandit,
    trained,
)
from icpe.studies.study import AbstractMeasure, Cell, Results, Size, Study
from icpe.studies.tables import ABSENT, NOT_RUN, Table, shown

_ENOUGH = 0.2
"""Share of the trajectories that a point of a curve needs."""


@dataclasses.dataclass(frozen=True)
class PolicyMeasure(AbstractMeasure):
    """The average policy in one environment, beside what Track-and-Stop would do.

    The environment is drawn from `environments`, or else from the family.
    """

    family: AbstractTaskFamily
    explorer: AnyExplorer
    trajectories: int = 100
    error_prob: float = ERROR_PROB
    environments: AbstractTaskFamily | None = None

    def run(self, bench: Bench, seed: int) -> dict[str, Any]:
        """Plays the environment of the seed again and again."""
        (task,) = sample_tasks(
            self.environments or self.family, 1, key=jr.split(jr.key(seed))[0]
        )
        found = policy_statistics(
            self.explorer.build(self.family, bench),
            self.family,
            Request(error_prob=self.error_prob),
            task=task,
            trajectories=self.trajectories,
            proportions=inverse_gap_proportions,
            seed=seed,
        )
        allocation = found.allocation
        running = int((allocation.running > 0).sum())
        curves = {
            "total_variation": found.total_variation,
            "entropy": allocation.entropy,
            "largest": allocation.quantile(1.0),
            "quantile_0.9": allocation.quantile(0.9),
            "quantile_0.5": allocation.quantile(0.5),
        }
        steps = {name: np.round(c[:running], 5).tolist() for name, c in curves.items()}
        return {**steps, "running": allocation.running[:running].tolist()}


def make(size: Size) -> Study:
    """Declares the study."""
    number = 3 if size == "tiny" else 14
    family, among = bandit(number, size), among_others(number, size)
    trajectories = 8 if size == "tiny" else 100
    asked = 0.99 if size == "tiny" else ERROR_PROB
    row, classical = f"K={number}", Baseline("track-and-stop")
    ours = trained(number, 0, size)
    cells = (
        Cell(
            row, "track-and-stop", PolicyMeasure(family, classical, trajectories, asked)
        ),
        Cell(row, "ours", PolicyMeasure(among, ours, trajectories, asked, family), 0),
    )
    return Study(
        "policy-statistics",
        "Does it act like Track-and-Stop?",
        "100 trajectories in one environment with 14 arms at error probability 0.1: "
        "distance of the average policy from what Track-and-Stop would approximately "
        "do, its entropy, and its largest shares. Paper: figure of statistics of ICPE "
        "(appendix), without numbers. One training seed.",
        cells,
        _tables,
        _figures,
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for method in ("ours", "track-and-stop"):
        found = results.first(results.rows[0], method)
        values: list[float | None] = [None] * 3
        if found is not None and found["running"]:
            weights = np.asarray(found["running"], float)
            values = [
                float(np.average(found[name], weights=weights))
                for name in ("total_variation", "entropy", "largest")
            ]
        absent = NOT_RUN if found is None else ABSENT  # it may have made no query
        rows.append((LOOKS[method].name, *(shown(v, 3, absent) for v in values)))
    headings = ("", "distance from the proportions", "entropy, nats", "largest share")
    caption = "Averages over the steps of all trajectories"
    return [
        Table(
            "policy-statistics",
            caption,
            headings,
            tuple(rows),
            (
                "The proportions are inverse to the gaps, the paper's approximation of "
                "what Track-and-Stop does. It pulls every arm once at first, and "
                "aims at other proportions, so it is itself far from them. "
                f"Curves end where fewer than {_ENOUGH:.0%} of the trajectories are "
                "left.",
            ),
        )
    ]


def _figures(results: Results) -> dict[str, Figure]:
    panels = []
    for name, label in (
        ("total_variation", "distance from the proportions"),
        ("entropy", "entropy of the average policy, nats"),
        ("largest", "largest share of an arm"),
    ):
        series = []
        for method in ("ours", "track-and-stop"):
            found = results.first(results.rows[0], method)
            if found is not None and found["running"]:
                least = _ENOUGH * found["running"][0]
                length = sum(number >= least for number in found["running"])
                steps = list(range(1, length + 1))
                curve = found[name][:length]
                series.append(Series(LOOKS[method], steps, curve, markers=False))
        panels.append(Panel(series, "query", label, y_range=(0, None)))
    return named(panels_figure(panels, width=4.9), "policy-statistics")
