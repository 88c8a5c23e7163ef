"""The explorers of the stochastic bandits with budgets, other priors, their policy."""

import dataclasses
from typing import Any

import jax.random as jr
import numpy as np

from icpe.evaluate.nested import sample_tasks
from icpe.evaluate.plots import Figure
from icpe.evaluate.policy_statistics import inverse_gap_proportions, policy_statistics
from icpe.studies import paper_values
from icpe.studies.figures import LOOKS, Panel, Series, line, named, panels_figure
from icpe.studies.measures import AnyExplorer, Baseline, Evaluation, Wrapped, at
from icpe.studies.models import Bench
from icpe.studies.stochastic_bandits import (
    ERROR_PROB,
    among_others,
    arms_of,
    at_request,
    bandit,
    seeds_of,
    trained,
)
from icpe.studies.study import AbstractMeasure, Cell, Results, Size, Study
from icpe.studies.tables import (
    ABSENT,
    NOT_RUN,
    Estimate,
    Table,
    estimate,
    is_at_least,
    misses,
    pair,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES
from icpe.tasks.base import AbstractTaskFamily
from icpe.tasks.shifted import ShiftedGaussianBandit


def make_budget(size: Size) -> Study:
    """Declares the study of fixed budgets."""
    tiny = size == "tiny"
    budgets = (2, 3, 4) if tiny else paper_values.BUDGETS
    cells = []
    for number in arms_of(size):
        family, row = bandit(number, size), f"K={number}"

        def cell(method, explorer, seed=None, family=family, row=row) -> Cell:
            episodes = EPISODES if tiny else 20_000 if method == "ours" else 10_000
            measure = Evaluation(family, explorer, budgets=budgets, episodes=episodes)
            return Cell(row, method, measure, seed)

        def learned(method, explorer, seed, number=number, cell=cell) -> Cell:
            return cell(method, explorer, seed, family=among_others(number, size))

        cells += [
            cell("top-two", Baseline("top-two")),
            cell("ttps", Baseline("ttps")),
            cell("uniform-sampling", Baseline("uniform-sampling")),
            *(learned("ours", trained(number, s, size), s) for s in seeds_of(size)),
            learned("i-dpt", Wrapped("i-dpt", trained(number, 0, size)), 0),
        ]
    return Study(
        "stochastic-bandits-budget",
        "Stochastic bandits, fixed budget",
        "The same bandits and the same trained explorers with a budget of pulls. "
        "Paper: figure of the appendix with budget 30, without numbers.",
        tuple(cells),
        _budget_tables,
        _budget_figures,
    )


def _with_budget(
    results: Results, row: str, method: str, budget: int
) -> Estimate | None:
    found = results.of(row, method)
    return estimate([at(one, "budget", str(budget)) for one in found], "accuracy")


def _budget_target(row: str, budget: int) -> float | None:
    targets = paper_values.BUDGET_ACCURACY.get(int(row.removeprefix("K=")))
    return targets and targets[paper_values.BUDGETS.index(budget)]


def _budget_met(results: Results, row: str, budget: int) -> bool | None:
    target = _budget_target(row, budget)
    least = target and target - paper_values.BUDGET_SLACK
    return is_at_least(_with_budget(results, row, "ours", budget), least)


_BUDGET_METHODS = ("ours", "top-two", "ttps", "uniform-sampling", "i-dpt")


def _budget_tables(results: Results) -> list[Table]:
    rows, met = [], {}
    for row in results.rows:
        for budget in paper_values.BUDGETS:
            label = f"{row}, budget {budget}"
            met[label] = _budget_met(results, row, budget)
            rows.append(
                (
                    label,
                    *(
                        shown(_with_budget(results, row, method, budget), 3)
                        for method in _BUDGET_METHODS
                    ),
                    shown(_budget_target(row, budget), 3, ABSENT),
                    verdict(met[label]),
                )
            )
    names = (LOOKS[method].name for method in _BUDGET_METHODS)
    return [
        Table(
            "stochastic-bandits-budget",
            "Accuracy after a fixed number of pulls",
            ("", *names, "target", "target met"),
            tuple(rows),
            (
                "Target: the exact-posterior rule as simulated beforehand on 3,000 "
                f"tasks, less {paper_values.BUDGET_SLACK}.",
                *misses(list(met), met.get, results.notes),
            ),
        )
    ]


def _budget_figures(results: Results) -> dict[str, Figure]:
    numbers = [int(row.removeprefix("K=")) for row in results.rows]
    panels = [
        Panel(
            [
                line(
                    method,
                    numbers,
                    [_with_budget(results, row, method, n) for row in results.rows],
                )
                for method in _BUDGET_METHODS
            ],
            "number of arms K",
            "accuracy",
            f"Budget {n}",
            x_ticks=numbers,
            y_range=(None, 1.005),
        )
        for n in (10, 30)
    ]
    return named(panels_figure(panels), "stochastic-bandits-budget")


def make_shift(size: Size) -> Study:
    """Declares the study of shifted priors."""
    tiny = size == "tiny"
    episodes = EPISODES if tiny else 10_000
    cells = []
    for number in arms_of(size):
        plain = bandit(number, size)
        for shift in (0.0, 1.0) if tiny else paper_values.SHIFTS:
            shifted = ShiftedGaussianBandit(
                num_arms=number, shift_kl=shift, horizon=plain.horizon
            )
            among = dataclasses.replace(
                shifted,
                among=arms_of(size)[-1],
                horizon=among_others(number, size).horizon,
            )
            row = f"K={number}, KL={shift:g}"
            for method, family, explorer, seed in (
                ("top-two", shifted, Baseline("top-two", made_for=plain), None),
                ("ours", among, trained(number, 0, size), 0),
            ):
                measure = Evaluation(
                    family, explorer, error_probs=(ERROR_PROB,), episodes=episodes
                )
                cells.append(Cell(row, method, measure, seed))
    return Study(
        "distribution-shift",
        "Stochastic bandits under another prior",
        "Means that are more evenly spaced than those trained on: Dirichlet spacings "
        "at a given divergence from uniform ones. Paper: table of the distribution "
        "shift. Reported, not a pass mark; one training seed.",
        tuple(cells),
        _shift_tables,
        _shift_figures,
    )


def _place(row: str) -> tuple[int, float]:
    arms, shift = row.split(", ")
    return int(arms.removeprefix("K=")), float(shift.removeprefix("KL="))


def _shift_tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        number, shift = _place(row)
        printed = paper_values.DISTRIBUTION_SHIFT.get(number, {}).get(shift)
        both = [
            pair(
                at_request(results, row, method, "mean_queries"),
                at_request(results, row, method, "accuracy"),
            )
            for method in ("ours", "top-two")
        ]
        theirs = ABSENT
        if printed is not None:
            theirs = f"{printed.queries.value:.2f} at {printed.accuracy.value:.2f}"
        rows.append((row, theirs, *both))
    return [
        Table(
            "distribution-shift",
            "Mean queries and accuracy when asked for error probability 0.1",
            ("", "paper", "ours", "exact posterior of the unshifted prior"),
            tuple(rows),
        )
    ]


def _shift_figures(results: Results) -> dict[str, Figure]:
    arms = sorted({_place(row)[0] for row in results.rows})
    panels = []
    for number in arms[:: max(1, len(arms) // 3)][:3]:
        rows = [row for row in results.rows if _place(row)[0] == number]
        shifts = [_place(row)[1] for row in rows]
        series = [
            line(
                method,
                shifts,
                [at_request(results, row, method, "accuracy") for row in rows],
            )
            for method in ("ours", "top-two")
        ]
        if any(len(one.x) for one in series):
            table = paper_values.DISTRIBUTION_SHIFT.get(number, {})
            values = [table[s].accuracy.value if s in table else None for s in shifts]
            series.append(line("paper", shifts, values))
        panels.append(
            Panel(
                series,
                "divergence from the prior trained on",
                "accuracy",
                f"{number} arms; asked for: 0.9",
                y_range=(0.8, 1.0),
                y_line=1.0 - ERROR_PROB,
            )
        )
    return named(panels_figure(panels, width=4.9), "distribution-shift")


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
            task=task,
            trajectories=self.trajectories,
            error_prob=self.error_prob,
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


_ENOUGH = 0.2
"""Share of the trajectories that a point of a curve needs."""


def make_policy(size: Size) -> Study:
    """Declares the study of the policy."""
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
        _policy_tables,
        _policy_figures,
    )


def _policy_tables(results: Results) -> list[Table]:
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


def _policy_figures(results: Results) -> dict[str, Figure]:
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
