"""Bandits without noise and as many pulls as arms: every arm must be tried once."""

import dataclasses

from icpe.evaluate.plots import Figure
from icpe.families.deterministic_bandit import DeterministicBandit
from icpe.studies import paper_values
from icpe.studies.figures import LOOKS, Panel, line, named, panels_figure
from icpe.studies.measures import Baseline, Evaluation, Trained, Wrapped, value_at
from icpe.studies.models import Model
from icpe.studies.study import Cell, Results, Size, Study
from icpe.studies.tables import (
    Estimate,
    Table,
    all_of,
    is_at_least,
    misses,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES, tiny_model

ARMS = tuple(range(4, 21, 2))
METHODS = ("ours", "uniform", "i-dpt", "dqn")


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    arms = (3,) if tiny else ARMS
    any_number = DeterministicBandit(
        num_arms=arms[-1], vary_arms=True, fewest_arms=arms[0]
    )
    model = tiny_model(Model(any_number)) if tiny else Model(any_number)
    cells = []
    for number in arms:
        alone = DeterministicBandit(num_arms=number)
        among_others = dataclasses.replace(
            any_number, fewest_arms=number, most_arms=number
        )

        def cell(method, family, explorer, seed=None, number=number) -> Cell:
            measure = Evaluation(
                family,
                explorer,
                budgets=(number,),
                statistics=("distinct",),
                episodes=EPISODES if tiny else 20_000,
            )
            return Cell(f"K={number}", method, measure, seed)

        cells += [
            cell("uniform", alone, Baseline("uniform")),
            cell("ours", among_others, Trained(model, among_others), 0),
            cell("i-dpt", among_others, Wrapped("i-dpt", Trained(model)), 0),
        ]
        if not tiny:
            cells.append(cell("dqn", alone, Trained(Model(alone, learner="dqn")), 0))
    return Study(
        "deterministic-bandits",
        "Deterministic bandits",
        "K arms with means uniform on [0, 1] that one pull reveals, and K pulls. The "
        "limit is accuracy 1 with every arm tried once. One explorer serves all K, "
        "which is revealed at reset; DQN is trained for each K. Paper: figure of "
        "deterministic bandits, both about 1. One training seed.",
        tuple(cells),
        _tables,
        _figures,
    )


def _value(results: Results, row: str, method: str, name: str) -> Estimate | None:
    budget = row.removeprefix("K=")
    return value_at(results, row, method, name, kind="budget", request=budget)


def _is_met(results: Results, row: str) -> bool | None:
    accuracy = _value(results, row, "ours", "accuracy")
    distinct = _value(results, row, "ours", "distinct")
    return all_of(
        is_at_least(accuracy, paper_values.DETERMINISTIC_ACCURACY),
        is_at_least(distinct, paper_values.DETERMINISTIC_DISTINCT),
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        rows.append(
            (
                row,
                "about 1",
                *(
                    shown(_value(results, row, method, name), digits)
                    for method in METHODS
                    for name, digits in (("accuracy", 4), ("distinct", 3))
                ),
                "1",
                verdict(_is_met(results, row)),
            )
        )
    headings = [
        f"{LOOKS[method].name}, {what}"
        for method in METHODS
        for what in ("accuracy", "arms tried")
    ]
    missed = misses(results.rows, lambda row: _is_met(results, row), results.notes)
    return [
        Table(
            "deterministic-bandits",
            "Accuracy with K pulls, and share of the arms that were tried",
            ("", "paper", *headings, "limit of both", "target"),
            tuple(rows),
            (
                f"Target: accuracy {paper_values.DETERMINISTIC_ACCURACY} with "
                f"{paper_values.DETERMINISTIC_DISTINCT} of the arms tried. DQN is "
                "trained on the rewards of the environment. The uniform rule answers "
                "by the exact posterior.",
                *missed,
            ),
        )
    ]


def _figures(results: Results) -> dict[str, Figure]:
    numbers = [int(row.removeprefix("K=")) for row in results.rows]
    panels = [
        Panel(
            [
                line(
                    m, numbers, [_value(results, row, m, name) for row in results.rows]
                )
                for m in METHODS
            ],
            "number of arms K",
            label,
            x_ticks=numbers,
            y_range=(0, 1.03),
        )
        for name, label in (
            ("accuracy", "accuracy with K pulls"),
            ("distinct", "share of the arms tried"),
        )
    ]
    return named(panels_figure(panels), "deterministic-bandits")
