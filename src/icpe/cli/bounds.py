"""`icpe bounds`: what is known about the optimum of a family, or of one bandit."""

import dataclasses
from typing import Annotated

import tyro

from icpe.cli.options import Seed, Settings, Source

_ERROR_PROB = 0.1
_NUM_ARMS = "num_arms"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Args:
    """Print what is known about the optimum of a family, or of one bandit.

    mean_queries and max_queries belong to the best explorer that never errs, where
    they are known exactly. bayes_mean_queries is the exact optimum over the prior at
    --error-prob or --price: of small finite families, whose dynamic program has at
    most 4 million numbers (beliefs x queries x outcomes x tasks). With --means: the
    characteristic time, lower bound and optimal proportions of one bandit.
    """

    family: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="FAMILY", help_behavior_hint=""),
    ] = ""
    """The family; set its parameter x by --family.x VALUE.
    Leave it out if you give data."""
    source: tyro.conf.OmitArgPrefixes[Source] = dataclasses.field(
        default_factory=Source
    )
    error_prob: Annotated[
        float | None, tyro.conf.arg(metavar="P", help_behavior_hint="")
    ] = None
    """Error probability, for bounds that depend on it (0.1 with --means)."""
    price: Annotated[
        float | None, tyro.conf.arg(metavar="C", help_behavior_hint="")
    ] = None
    """Price of one unit of cost, in place of the error probability."""
    means: Annotated[
        tuple[float, ...],
        tyro.conf.arg(metavar="MEAN [MEAN ...]", help_behavior_hint=""),
    ] = ()
    """The means of the arms of one bandit; their number is the number of arms."""
    json: bool = False
    """Print one line of JSON."""
    seed: Seed = 0
    """Seed, for bounds that are averaged over tasks."""
    settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe bounds binary-search --family.size 256",
    "icpe bounds gaussian-bandit --means 0.7 0.5 0.4 --error-prob 0.05",
)


def run(args: Args) -> int:
    """Prints the bounds."""
    from icpe.cli.families import build_family, check_family
    from icpe.cli.options import as_options, check_error_prob, check_seed
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, print_json
    from icpe.core.goals import Request

    check_seed(args.seed)
    check_family(args.family, args.settings, args.source)
    check_error_prob(args.error_prob)
    if args.means:
        return _one_bandit(args)
    if (args.error_prob, args.price) != (None, None):
        with as_options():
            Request(error_prob=args.error_prob, price=args.price)
    from icpe.evaluate.limits import limits_and_reason
    from icpe.evaluate.report import family_record
    from icpe.families.registry import describe

    family = build_family(args.family, args.settings, args.source)
    keep_compiled_programs()
    known, reason = limits_and_reason(
        family, args.error_prob, price=args.price, seed=args.seed
    )
    if args.json:
        record = {"family": family_record(family), "error_prob": args.error_prob}
        if args.price is not None:
            record["price"] = args.price
        print_json(record | known)
        return 0
    console = output()
    console.print(f"[bold]{describe(family)}[/]")
    _print_known(console, known)
    if reason:
        console.print(
            f"\nThe optimum over the prior is not known: {reason}. `icpe evaluate "
            "RULE` measures what a rule needs, and `icpe baselines` lists them.",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
    return 0


def _print_known(console, known) -> None:
    from icpe.evaluate.limits import is_every_task

    _print_rows(
        console,
        [_shown(name, it) for name, it in known.items() if not is_every_task(name)],
    )
    others = [
        _shown(name, value, absent="infinite")
        for name, value in known.items()
        if is_every_task(name)
        and not (value is None and name.endswith("standard_error"))
    ]
    if others:
        console.print(
            "\nFor methods that must keep the error probability on every task with "
            "such answers, not only on average over the family. The numbers are "
            "averages over its tasks. An explorer that knows the prior may need fewer "
            "queries:",
            soft_wrap=True,
            highlight=False,
        )
        _print_rows(console, others)


def _print_rows(console, rows: list[tuple[str, str, str]]) -> None:
    """Name, number and theorem; no line is broken."""
    name, number = (max(len(row[i]) for row in rows) for i in (0, 1))
    for row in rows:
        line = f"{row[0]:<{name}}  {row[1]:<{number}}  {row[2]}".rstrip()
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _one_bandit(args: Args) -> int:
    """Prints what one bandit asks of methods that are correct on every one."""
    from rich.table import Table

    from icpe.cli.families import build_family, known_name
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, print_json
    from icpe.core.errors import InvalidParameterError, OperatingPointError

    if len(args.means) < 2:
        raise InvalidParameterError(
            f"--means must be at least two numbers, one for each arm; got "
            f"{_numbers(args.means)}."
        )
    if args.price is not None:
        raise OperatingPointError(
            f"--price {args.price} has no meaning with --means; give --error-prob."
        )
    from icpe.evaluate.limits import instance_limits
    from icpe.evaluate.report import family_record
    from icpe.explorers.classical.served import has_graph_arms
    from icpe.families.registry import describe, parameter_fields

    settings = dict(args.settings)
    if _NUM_ARMS in parameter_fields(known_name(args.family)):
        settings.setdefault(_NUM_ARMS, str(len(args.means)))
    family = build_family(args.family, settings)
    keep_compiled_programs()
    error_prob = _ERROR_PROB if args.error_prob is None else args.error_prob
    found = instance_limits(family, args.means, error_prob)
    if args.json:
        print_json({"family": family_record(family)} | dataclasses.asdict(found))
        return 0
    console = output()
    console.print(f"[bold]{describe(family)}[/]")
    table = Table.grid(padding=(0, 2))
    table.add_row("means", _numbers(found.means))
    table.add_row("best", family.spec.hypothesis_name(found.best))
    table.add_row("characteristic time", f"{found.characteristic_time:.6g}")
    table.add_row("optimal proportions", _numbers(found.optimal_proportions))
    table.add_row(
        "mean queries at least",
        f"{found.correct_on_every_task_mean_queries:.6g}  "
        f"(error probability {error_prob:g})",
    )
    table.add_row(
        "by", _GRAPHS if has_graph_arms(family) else theorem("characteristic_time")
    )
    console.print(table)
    console.print(
        "\nFor methods that are correct on every bandit with such rewards; an explorer "
        "that knows more, such as a prior or a minimum gap, may need fewer queries."
    )
    return 0


def _numbers(values) -> str:
    return "  ".join(f"{value:.4g}" for value in values)


def _shown(
    name: str, value: float | int | None, absent: str = "not known"
) -> tuple[str, str, str]:
    number = absent if value is None else f"{value:.6g}"
    return name.replace("_", " "), number, theorem(name)


_THEOREMS = {
    "mean_queries": "least of those who never err",
    "max_queries": "least of those who never err",
    "bayes": "exact, by dynamic programming",
    "fano": "lower bound, Fano's inequality",
    "paper_expression": "the paper, Multiple Magic Actions",
    "without_arm_zero": "lower bound, Fano's inequality",
    "characteristic_time": "Garivier and Kaufmann 2016, Theorem 1",
    "correct_on_every_task_known_gap_lower": "the paper, minimum gap: at least",
    "correct_on_every_task_known_gap_upper": "same theorem: enough as P falls to 0",
    "correct_on_every_task": "Garivier and Kaufmann 2016, Theorem 1",
}
"""By what each number holds; a name goes with the longest that it begins with."""

_GRAPHS = "Russo, Song and Pacchiano 2025"
"""Where the characteristic time of a feedback graph comes from."""


def theorem(name: str) -> str:
    """The theorem of a limit in a few words, empty where there is none."""
    if name.endswith("standard_error"):
        return ""
    fitting = [start for start in _THEOREMS if name.startswith(start)]
    return _THEOREMS[max(fitting, key=len)] if fitting else ""
