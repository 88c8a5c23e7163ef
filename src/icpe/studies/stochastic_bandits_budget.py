"""The explorers of the stochastic bandits, with a budget of pulls."""

from icpe.evaluate.plots import Figure
from icpe.studies import paper_values
from icpe.studies.figures import LOOKS, Panel, line, named, panels_figure
from icpe.studies.measures import Baseline, Evaluation, Wrapped, at
from icpe.studies.stochastic_bandits import (
    among_others,
    arms_of,
    bandit,
    seeds_of,
    trained,
)
from icpe.studies.study import Cell, Results, Size, Study
from icpe.studies.tables import (
    ABSENT,
    Estimate,
    Table,
    estimate,
    is_at_least,
    misses,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES

_METHODS = ("ours", "top-two", "ttps", "uniform-sampling", "i-dpt")


def make(size: Size) -> Study:
    """Declares the study."""
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
        _tables,
        _figures,
    )


def _with_budget(
    results: Results, row: str, method: str, budget: int
) -> Estimate | None:
    found = results.of(row, method)
    return estimate([at(one, "budget", str(budget)) for one in found], "accuracy")


def _target(row: str, budget: int) -> float | None:
    targets = paper_values.BUDGET_ACCURACY.get(int(row.removeprefix("K=")))
    return targets and targets[paper_values.BUDGETS.index(budget)]


def _is_met(results: Results, row: str, budget: int) -> bool | None:
    target = _target(row, budget)
    least = target and target - paper_values.BUDGET_SLACK
    return is_at_least(_with_budget(results, row, "ours", budget), least)


def _tables(results: Results) -> list[Table]:
    rows, met = [], {}
    for row in results.rows:
        for budget in paper_values.BUDGETS:
            label = f"{row}, budget {budget}"
            met[label] = _is_met(results, row, budget)
            rows.append(
                (
                    label,
                    *(
                        shown(_with_budget(results, row, method, budget), 3)
                        for method in _METHODS
                    ),
                    shown(_target(row, budget), 3, ABSENT),
                    verdict(met[label]),
                )
            )
    names = (LOOKS[method].name for method in _METHODS)
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


def _figures(results: Results) -> dict[str, Figure]:
    numbers = [int(row.removeprefix("K=")) for row in results.rows]
    panels = [
        Panel(
            [
                line(
                    method,
                    numbers,
                    [_with_budget(results, row, method, n) for row in results.rows],
                )
                for method in _METHODS
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
