"""The explorers of the stochastic bandits, under priors that they were not made for."""

import dataclasses

from icpe.evaluate.plots import Figure
from icpe.families.shifted_gaussian_bandit import ShiftedGaussianBandit
from icpe.studies import paper_values
from icpe.studies.figures import Panel, line, named, panels_figure
from icpe.studies.measures import Baseline, Evaluation
from icpe.studies.stochastic_bandits import (
    ERROR_PROB,
    among_others,
    arms_of,
    at_request,
    bandit,
    trained,
)
from icpe.studies.study import Cell, Results, Size, Study
from icpe.studies.tables import ABSENT, Table, pair
from icpe.studies.tiny import EPISODES


def make(size: Size) -> Study:
    """Declares the study."""
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
        _tables,
        _figures,
    )


def _place(row: str) -> tuple[int, float]:
    arms, shift = row.split(", ")
    return int(arms.removeprefix("K=")), float(shift.removeprefix("KL="))


def _tables(results: Results) -> list[Table]:
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


def _figures(results: Results) -> dict[str, Figure]:
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
