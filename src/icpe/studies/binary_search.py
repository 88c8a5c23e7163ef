"""Binary search: does the explorer find the optimum by itself?"""

from icpe.evaluate.plots import Figure
from icpe.families.binary_search import BinarySearch
from icpe.studies import paper_values
from icpe.studies.figures import Panel, line, named, panels_figure
from icpe.studies.measures import Baseline, Evaluation, Optimum, Trained, at, value_at
from icpe.studies.models import Model
from icpe.studies.study import Cell, Results, Size, Study, entry
from icpe.studies.tables import (
    ABSENT,
    Estimate,
    Table,
    all_of,
    estimate,
    is_at_least,
    is_at_most,
    misses,
    pair,
    shown,
    verdict,
)
from icpe.studies.tiny import EPISODES, tiny_model

SIZES = tuple(paper_values.BINARY_SEARCH)
SEEDS = (0, 1, 2)
_ALMOST_NEVER, _RARELY = 0.001, 0.01
_ALWAYS = 0.999
"""Accuracy that is printed as 1.00."""
_GREEDY = "information-gain"


def make(size: Size) -> Study:
    """Declares the study."""
    tiny = size == "tiny"
    sizes, seeds = ((4, 8), (0, 1)) if tiny else (SIZES, SEEDS)
    episodes = EPISODES if tiny else 20_000
    cells = []
    for number in sizes:
        family = BinarySearch(size=number)
        row = f"K={number}"
        cells += [
            Cell(row, "limit", Optimum(family)),
            Cell(
                row,
                _GREEDY,
                Evaluation(
                    family,
                    Baseline(_GREEDY),
                    error_probs=(_RARELY,),
                    episodes=min(episodes, 10_000),
                ),
            ),
        ]
        for seed in seeds:
            model = Model(family, seed, seeds=seeds)
            trained = Trained(tiny_model(model) if tiny else model)
            measure = Evaluation(
                family,
                trained,
                error_probs=(_ALMOST_NEVER, _RARELY),
                episodes=episodes,
            )
            cells.append(Cell(row, "ours", measure, seed))
    return Study(
        "binary-search",
        "Binary search",
        "A number among K is guessed; each guess is answered by lower, hit or higher. "
        "The fewest queries without error are known exactly. Paper: table of the "
        "binary search task, error probability 0.01, 100 tasks for each K.",
        tuple(cells),
        _tables,
        _figures,
    )


def _ours(results: Results, row: str, name: str, asked: float) -> Estimate | None:
    request = f"{asked:g}"
    return value_at(results, row, "ours", name, kind="error_prob", request=request)


def _longest(results: Results, row: str) -> int | None:
    asked = f"{_ALMOST_NEVER:g}"
    found = [at(one, "error_prob", asked) for one in results.of(row, "ours")]
    most = [one["max_queries"] for one in found if one and "max_queries" in one]
    return max(most, default=None)


def _is_met(results: Results, row: str) -> bool | None:
    limit = results.first(row, "limit")
    if limit is None:
        return None
    most = (1 + paper_values.BINARY_SEARCH_MARGIN) * limit["mean_queries"]
    return all_of(
        is_at_most(_ours(results, row, "mean_queries", _ALMOST_NEVER), most),
        is_at_most(_longest(results, row), limit["max_queries"]),
        is_at_least(_ours(results, row, "accuracy", _ALMOST_NEVER), _ALWAYS),
    )


def _tables(results: Results) -> list[Table]:
    rows = []
    for row in results.rows:
        printed = paper_values.BINARY_SEARCH.get(int(row.removeprefix("K=")))
        limit = results.first(row, "limit")
        longest = _longest(results, row)
        rarely = _ours(results, row, "mean_queries", _RARELY)
        right = _ours(results, row, "accuracy", _RARELY)
        greedy = [at(results.first(row, _GREEDY), "error_prob", "0.01")]
        rows.append(
            (
                row,
                ABSENT if printed is None else printed.mean.text(2),
                ABSENT if printed is None else str(printed.longest),
                shown(_ours(results, row, "accuracy", _ALMOST_NEVER), 4),
                shown(_ours(results, row, "mean_queries", _ALMOST_NEVER), 3),
                shown(longest, 0),
                pair(rarely, right),
                shown(estimate(greedy, "mean_queries"), 3),
                shown(entry(limit, "mean_queries"), 3),
                shown(entry(limit, "max_queries"), 0),
                verdict(_is_met(results, row)),
            )
        )
    notes = misses(results.rows, lambda row: _is_met(results, row), results.notes)
    return [
        Table(
            "binary-search",
            "Binary search: mean queries, and the most in any episode",
            (
                "",
                "paper, mean",
                "paper, most",
                "ours, accuracy",
                "ours, mean",
                "ours, most",
                "ours, asked for 0.01",
                "exact IDS, mean",
                "optimum, mean",
                "optimum, most",
                "target",
            ),
            tuple(rows),
            (
                "Ours is asked for error probability 0.001, and once for the paper's "
                "0.01, for which it could also err to save queries. Target: accuracy "
                "1, the mean within 1 % of the optimum, and its largest number of "
                "queries. The paper's means below the optimum are noise of 100 tasks.",
                *notes,
            ),
        )
    ]


def _figures(results: Results) -> dict[str, Figure]:
    rows = results.rows
    sizes = [int(row.removeprefix("K=")) for row in rows]
    printed = [paper_values.BINARY_SEARCH.get(number) for number in sizes]
    limits = [results.first(row, "limit") for row in rows]
    ours = [_ours(results, row, "mean_queries", _ALMOST_NEVER) for row in rows]
    greedy = [at(results.first(row, _GREEDY), "error_prob", "0.01") for row in rows]
    series = [
        line("paper", sizes, [one.mean.value if one else None for one in printed]),
        line(_GREEDY, sizes, [entry(one, "mean_queries") for one in greedy]),
        line("limit", sizes, [entry(one, "mean_queries") for one in limits]),
        line("ours", sizes, ours),
    ]
    highest = max((y for one in series for y in one.y), default=1.0)
    panel = Panel(
        series,
        "how many numbers K",
        "mean number of queries",
        "Binary search without error",
        log_x=True,
        x_ticks=sizes,
        y_range=(0.0, 1.08 * highest),
    )
    return named(panels_figure([panel]), "binary-search")
