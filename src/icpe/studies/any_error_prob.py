"""One file, every error probability: accuracy against queries, beside the oracle."""

from icpe.evaluate.plots import Figure
from icpe.studies import paper_values
from icpe.studies.figures import LOOKS, Panel, Series, named, panels_figure
from icpe.studies.measures import CURVE_ERROR_PROBS, Baseline, Evaluation
from icpe.studies.stochastic_bandits import (
    CURVE_PRICES,
    among_others,
    at_accuracy,
    bandit,
    seeds_of,
    trained,
)
from icpe.studies.study import Cell, Results, Size, Study
from icpe.studies.tables import ABSENT, Table, shown
from icpe.studies.tiny import EPISODES

ARMS = (4, 10, 14)
_ACCURACIES = (0.8, 0.85, 0.9, 0.95, 0.98, 0.99)


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    episodes = EPISODES if tiny else 20_000
    cells = []
    for number in (3,) if tiny else ARMS:
        family, row = bandit(number, size), f"K={number}"
        oracle = Evaluation(
            family,
            Baseline("top-two"),
            curve_error_probs=CURVE_ERROR_PROBS[::8] if tiny else CURVE_ERROR_PROBS,
            episodes=episodes,
        )
        cells.append(Cell(row, "top-two", oracle))
        for seed in seeds_of(size):
            measure = Evaluation(
                among_others(number, size),
                trained(number, seed, size),
                curve_prices=3 if tiny else 2 * CURVE_PRICES,
                episodes=episodes,
            )
            cells.append(Cell(row, "ours", measure, seed))
    return Study(
        "any-error-probability",
        "One file for every error probability",
        "The paper trains a model for each error probability; ours is asked for one at "
        "run time. Accuracy against mean queries of one trained file along its prices, "
        "the oracle with the exact posterior along its thresholds, and the one point "
        "that the paper prints.",
        tuple(cells),
        _tables,
        _figures,
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        printed = paper_values.DISTRIBUTION_SHIFT.get(int(row.removeprefix("K=")))
        for method, name in (("ours", "ours"), ("top-two", "oracle")):
            unreached = "not reached" if results.of(row, method) else "not run"
            rows.append(
                (
                    f"{row}, {name}",
                    *(
                        shown(at_accuracy(results, row, method, a), 2, unreached)
                        for a in _ACCURACIES
                    ),
                )
            )
        theirs = [ABSENT] * len(_ACCURACIES)
        if printed is not None:
            point = printed[0.0]
            nearest = min(_ACCURACIES, key=lambda a: abs(a - point.accuracy.value))
            queries = point.queries.text(2)
            theirs[_ACCURACIES.index(nearest)] = (
                f"{queries} at {point.accuracy.value:.2f}"
            )
        rows.append((f"{row}, paper", *theirs))
    return [
        Table(
            "any-error-probability",
            "Mean queries at an accuracy",
            ("", *(f"{accuracy:g}" for accuracy in _ACCURACIES)),
            tuple(rows),
            ("The paper's one point stands in the column of the nearest accuracy.",),
        )
    ]


def _figures(results: Results) -> dict[str, Figure]:
    panels = []
    for row in results.rows:
        series = []
        for method in ("ours", "top-two"):
            found = results.first(row, method)
            if found is not None:
                series.append(_curve(method, found["curve"]))
        printed = paper_values.DISTRIBUTION_SHIFT.get(int(row.removeprefix("K=")))
        if printed is not None and series:
            point = printed[0.0]
            series.append(
                Series(LOOKS["paper"], [point.queries.value], [point.accuracy.value])
            )
        panels.append(
            Panel(
                series,
                "mean number of queries",
                "accuracy",
                f"{row.removeprefix('K=')} arms",
                y_range=(0.6, 1.005),
            )
        )
    return named(panels_figure(panels, width=4.9), "any-error-probability")


def _curve(method: str, points) -> Series:
    chain = sorted(points, key=lambda point: point["mean_queries"])
    return Series(
        LOOKS[method],
        [point["mean_queries"] for point in chain],
        [point["accuracy"] for point in chain],
        [point["accuracy_interval"][0] for point in chain],
        [point["accuracy_interval"][1] for point in chain],
    )
