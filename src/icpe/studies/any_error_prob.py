"""One file, every error probability: errors against queries, beside the oracle."""

from icpe.evaluate.plots import Figure
from icpe.studies import paper_values
from icpe.studies.figures import (
    LOOKS,
    NamePlace,
    Panel,
    Series,
    named,
    panels_figure,
)
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
_SHOWN_ERRORS = (0.004, 0.3)
_NAMES_AT: dict[str, NamePlace] = {"ours": (0.06, "left"), "top-two": (0.035, "right")}


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
        "run time. In the figure, error probability against mean queries of one "
        "trained file along its prices, of the oracle with the exact posterior along "
        "its thresholds, and the one point that the paper prints: the lower and the "
        "further left, the better.",
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
                series.append(_error_curve(method, found["curve"]))
        printed = paper_values.DISTRIBUTION_SHIFT.get(int(row.removeprefix("K=")))
        if printed is not None and series:
            series.append(_papers_point(printed[0.0]))
        panels.append(
            Panel(
                series,
                "mean number of queries",
                "error probability",
                f"{row.removeprefix('K=')} arms",
                log_y=True,
                y_ticks=(0.2, 0.1, 0.05, 0.02, 0.01, 0.005),
                y_range=_SHOWN_ERRORS,
            )
        )
    return named(panels_figure(panels, width=3.7), "any-error-probability")


def _error_curve(method: str, points) -> Series:
    """Error probabilities within what is shown, in the order of the queries."""
    least, most = _SHOWN_ERRORS
    shown = [point for point in points if least <= 1 - point["accuracy"] <= most]
    chain = sorted(shown, key=lambda point: point["mean_queries"])
    return Series(
        LOOKS[method],
        [point["mean_queries"] for point in chain],
        [1 - point["accuracy"] for point in chain],
        [1 - point["accuracy_interval"][1] for point in chain],
        [1 - point["accuracy_interval"][0] for point in chain],
        markers=False,
        name_at=_NAMES_AT[method],
    )


def _papers_point(point: paper_values.Shifted) -> Series:
    error, margin = 1 - point.accuracy.value, point.accuracy.margin or 0.0
    return Series(
        LOOKS["paper"],
        [point.queries.value],
        [error],
        [error - margin],
        [error + margin],
        name_at=(error, "right"),
    )
