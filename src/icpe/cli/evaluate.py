"""`icpe evaluate`: measure explorers on fresh tasks."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.new_rows import check_new_rows, read_rows_for, say_which_rows
from icpe.cli.options import (
    FamilyName,
    Goal,
    Seed,
    Settings,
    Source,
    Together,
    Where,
    check_seed,
)
from icpe.core.checks import check_num_episodes
from icpe.core.figure_paths import check_figure_path

_CURVE_EPISODES = 2_000
_CURVE_ERROR_PROBS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
_CURVE_PRICE_FACTORS = (8.0, 4.0, 2.0, 0.5, 0.25, 0.125)
_CURVE_BUDGET_POINTS = 8


@dataclasses.dataclass(frozen=True)
class Args:
    """Measure accuracy and number of queries of explorers on the same fresh tasks.

    Give exactly one of --error-prob, --budget and --price. Intervals are 95 %. An
    explorer made from a table is measured on the rows that were put aside for its
    certificate, or on rows of a new file (--rows).
    """

    explorers: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="EXPLORER [EXPLORER ...]", help_behavior_hint=""),
    ]
    """Who is measured.
    A trained explorer's file, or a name from `icpe zoo` or `icpe baselines`."""
    family: FamilyName = None
    """The family the tasks come from; that of the file if left out."""
    source: tyro.conf.OmitArgPrefixes[Source] = dataclasses.field(
        default_factory=Source
    )
    goal: tyro.conf.OmitArgPrefixes[Goal] = dataclasses.field(default_factory=Goal)
    episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 10_000
    """Number of episodes of each explorer."""
    seed: Seed = 0
    """Seed of the tasks, the noise and the explorers."""
    rows: Annotated[
        Path | None, tyro.conf.arg(metavar="TABLE.csv", help_behavior_hint="")
    ] = None
    """Instead of fresh tasks: rows that an explorer made from a table has never seen.
    The column with the classes is that of training, or --target COLUMN."""
    plot: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Draw accuracy against queries to FILE (.svg, .png or .pdf)."""
    json: bool = False
    """Print one line of JSON: an object, or a list if there are several explorers."""
    where: tyro.conf.OmitArgPrefixes[Where] = dataclasses.field(default_factory=Where)
    together: tyro.conf.OmitArgPrefixes[Together] = dataclasses.field(
        default_factory=Together
    )
    settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe evaluate gaussian-bandit-4 top-two --error-prob 0.1",
    "icpe evaluate questionnaire.safetensors --rows new.csv --error-prob 0.1",
)


def run(args: Args) -> int:
    """Measures and prints."""
    from icpe.cli.processes import together

    check_seed(args.seed)
    check_num_episodes("--episodes", args.episodes)
    with together(args, args.where.engine):
        return _run(args)


def _run(args: Args) -> int:
    from icpe.cli.engines import check_address, spread
    from icpe.cli.explorers import check_words, resolve
    from icpe.cli.processes import check_same_content
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.core.distributed import leads

    request = args.goal.request()
    target = args.source.target
    if args.rows is not None:
        check_new_rows(args.rows, args.explorers, args.plot)
        source = dataclasses.replace(args.source, target=None)
        args = dataclasses.replace(args, source=source)
    check_address(args.where.engine, args.where.address)
    check_words(args.explorers, args.family, args.settings, args.source, request)
    if args.plot is not None:
        check_figure_path(args.plot)
    from icpe.evaluate import comparison_figure, evaluate, save_figure
    from icpe.evaluate.plots import check_plot_path

    cast = resolve(args.explorers, args.family, args.settings, args.source)
    check_same_content(cast.files, cast.family)
    if args.plot is not None:
        check_plot_path(args.plot)
    keep_compiled_programs()
    new = None
    if args.rows is not None:
        new = read_rows_for(cast, args.rows, target)
    with spread(args.where.engine, args.where.address):
        reports = evaluate(
            cast.explorers,
            cast.family,
            **dataclasses.asdict(args.goal),
            episodes=args.episodes,
            seed=args.seed,
            cases=None if new is None else new.cases,
            progress=progress_meter(),
        )
    if args.plot is not None:
        curves = _curves(args, cast, reports)
        if leads():
            save_figure(comparison_figure(reports, curves), args.plot)
    if args.json:
        records = [report.to_dict() for report in reports]
        print_json(records[0] if len(records) == 1 else records)
    else:
        print_reports(output(), reports)
        say_which_rows(output(), cast, request, reports, new)
    return 0


def print_reports(console, reports) -> None:
    """Prints the main figures of some reports as a table for people.

    Costs have a column only where they are not simply the number of queries; below
    stands the price by which a trained explorer serves an error probability, and
    with which confidence that is certified.
    """
    from rich.markup import escape
    from rich.table import Table

    from icpe.cli.terminal import assurance

    with_cost = any(report.mean_cost != report.mean_queries for report in reports)
    table = Table(box=None)
    table.add_column("explorer", style="bold", no_wrap=True)
    headings = ("accuracy", "95 %", "queries", "95 %", "most", "cost")
    for heading in headings if with_cost else headings[:-1]:
        table.add_column(heading, justify="right")
    for report in reports:
        accuracy_low, accuracy_high = report.accuracy_interval
        queries_low, queries_high = report.mean_queries_interval
        table.add_row(
            report.explorer,
            f"{report.accuracy:.4f}",
            f"{accuracy_low:.3f}-{accuracy_high:.3f}",
            f"{report.mean_queries:.3f}",
            f"{queries_low:.2f}-{queries_high:.2f}",
            str(report.max_queries),
            *([f"{report.mean_cost:.3f}"] if with_cost else []),
        )
    console.print(reports[0].title)
    console.print(table)
    for report in reports:
        if report.undecided is not None and report.decided_accuracy is not None:
            console.print(
                f"{escape(report.explorer)}: {100 * report.undecided:.2f} % undecided; "
                f"of the others {report.decided_accuracy:.4f} right",
                soft_wrap=True,
            )
    for report in reports:
        if said := _missed(report):
            console.print(escape(said), soft_wrap=True, highlight=False)
    for report in reports:
        if report.price is not None and report.error_prob is not None:
            console.print(
                f"[dim]{escape(report.explorer)} serves error probability "
                f"{report.error_prob:g} at price {report.price:.4g}, "
                f"{assurance(report.confidence, report.attempt)}[/]",
                soft_wrap=True,
            )


def _missed(report) -> str | None:
    """That more answers were wrong than was asked for, if they were."""
    asked = report.error_prob
    if asked is None or report.decided_accuracy is not None:
        return None
    least = 1.0 - report.accuracy_interval[1]
    if least <= asked:
        return None
    wrong = 1.0 - report.accuracy
    sentence = (
        f"{report.explorer}: an error probability of {asked:g} was asked for; "
        f"{wrong:.3f} of the answers were wrong."
    )
    forced = sum(report.stop_reasons.get(it, 0) for it in ("horizon", "no_query"))
    if forced:
        sentence += (
            f" In {forced} of {report.episodes} episodes there was nothing left to "
            "ask, so it may be out of reach."
        )
    return sentence


def _curves(args: Args, cast, reports):
    """The explorers' curves around the requested operating point, which they hold."""
    import numpy as np

    from icpe.cli.terminal import progress_meter
    from icpe.evaluate import Request, sweep

    asked = args.goal.request()
    if asked.budget is not None:
        highest = min(cast.family.spec.horizon, 2 * asked.budget)
        points = np.geomspace(1, highest, _CURVE_BUDGET_POINTS).round().astype(int)
        others = sorted({int(n) for n in points} - {asked.budget})
        requests = [Request(budget=n) for n in others]
    elif asked.price is not None:
        prices = [asked.price * factor for factor in _CURVE_PRICE_FACTORS]
        requests = [dataclasses.replace(asked, price=price) for price in prices]
    else:
        others = [p for p in _CURVE_ERROR_PROBS if p != asked.error_prob]
        requests = [dataclasses.replace(asked, error_prob=p) for p in others]
    curves = sweep(
        cast.explorers,
        cast.family,
        requests,
        episodes=min(args.episodes, _CURVE_EPISODES),
        seed=args.seed,
        progress=progress_meter(),
    )
    return {report.explorer: [report, *curves[report.explorer]] for report in reports}
