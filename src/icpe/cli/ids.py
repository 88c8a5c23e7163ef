"""`icpe ids`: where information-directed sampling falls short."""

import dataclasses
from typing import Annotated

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """Show where exact information-directed sampling falls short.

    It makes the query that is expected to tell most, looking one step ahead. In the
    paper's two examples two queries are enough, starting with arm 0, but it makes
    others.
    """

    fewest_arms: Annotated[int, tyro.conf.arg(metavar="K")] = 4
    """Smallest number of arms."""
    most_arms: Annotated[int, tyro.conf.arg(metavar="K")] = 12
    """Largest number of arms."""
    error_prob: Annotated[float, tyro.conf.arg(metavar="P")] = 0.1
    """Error probability at which it stops."""
    episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Simulate N episodes for each number of arms, too."""
    json: bool = False
    """Print one line of JSON."""
    seed: Seed = 0
    """Seed of the simulation."""


EXAMPLES = (
    "icpe ids",
    "icpe ids --most-arms 8 --episodes 1000",
)


def run(args: Args) -> int:
    """Prints the table."""
    from icpe.cli.options import check_seed
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import print_json
    from icpe.core.checks import check_at_least, check_between, check_num_episodes

    check_seed(args.seed)
    check_num_episodes("--episodes", args.episodes, 0)
    fewest = Args.fewest_arms
    check_at_least("--most-arms", args.most_arms, fewest)
    check_between("--fewest-arms", args.fewest_arms, fewest, args.most_arms)

    from icpe.studies.statistics.myopia import myopic_rows

    keep_compiled_programs()
    rows = list(
        myopic_rows(
            range(args.fewest_arms, args.most_arms + 1),
            args.error_prob,
            episodes=args.episodes,
            seed=args.seed,
        )
    )
    if args.json:
        print_json([_record(row) for row in rows])
    else:
        _print_tables(rows, args.error_prob)
    return 0


def _record(row) -> dict:
    from icpe.studies.statistics.myopia import OPTIMUM

    return {
        "example": row.example,
        "num_arms": row.num_arms,
        "gain_arm_zero": row.gain_arm_zero,
        "gain_other_arm": row.gain_other_arm,
        "starts_with_arm_zero": row.starts_with_arm_zero,
        "least_mean_queries": row.least_mean_queries,
        "optimum": OPTIMUM,
        "simulated": row.simulated._asdict() if row.simulated else None,
    }


_HEADINGS = {
    "two-pull-bandit": "Two pulls: the second pull of arm 0 names the best arm",
    "two-link-chain": "Two links: arm 0 names an arm that names the best arm",
    "magic-chain": "Two links, and no reward is noisy (magic-chain)",
}


def _print_tables(rows, error_prob: float) -> None:
    from rich.table import Table

    from icpe.cli.terminal import output
    from icpe.studies.statistics.myopia import OPTIMUM

    console = output()
    for example, heading in _HEADINGS.items():
        chosen = [row for row in rows if row.example == example]
        if not chosen:
            continue
        console.print(f"[bold]{heading}[/]")
        table = Table(box=None, pad_edge=False)
        for name in ("arms", "gain of arm 0", "of another", "first query"):
            table.add_column(name, justify="right")
        table.add_column("mean queries", justify="right")
        table.add_column("optimum", justify="right")
        for row in chosen:
            table.add_row(
                str(row.num_arms),
                *_gains(row),
                _first_query(row),
                _queries(row),
                str(OPTIMUM),
            )
        console.print(table)
        console.print()
    console.print(
        f"Gains in nats. Queries of information-directed sampling until it errs with "
        f"probability {error_prob:g} or less; ≥ is proved, ± is simulated."
    )


def _gains(row) -> tuple[str, str]:
    if row.gain_arm_zero is None:
        return "", ""
    return f"{row.gain_arm_zero:.4f}", f"{row.gain_other_arm:.4f}"


def _first_query(row) -> str:
    starts = row.starts_with_arm_zero
    if starts is None:
        starts = row.simulated.starts_with_arm_zero > 0.5
    return "arm 0" if starts else "another"


def _queries(row) -> str:
    parts = []
    if row.least_mean_queries is not None:
        parts.append(f"≥ {row.least_mean_queries:.2f}")
    if row.simulated is not None:
        mean, error = row.simulated.mean_queries, row.simulated.standard_error
        parts.append(f"{mean:.2f} ± {error:.2f}")
    return ", ".join(parts)
