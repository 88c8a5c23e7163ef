"""`icpe regret`: regret while pulling, against the best arm."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import FamilyName, Seed, Settings, check_seed
from icpe.core.checks import check_at_least, check_num_episodes
from icpe.core.figure_paths import check_figure_path


@dataclasses.dataclass(frozen=True)
class Args:
    """Measure the cumulative regret of explorers on the same fresh tasks.

    Write explorers that stop as explore-then-commit:EXPLORER. Intervals are 95 %.
    """

    explorers: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="EXPLORER [EXPLORER ...]", help_behavior_hint=""),
    ]
    """Who is measured, such as ucb, thompson or explore-then-commit:FILE."""
    family: FamilyName = None
    """The bandit the tasks come from; that of the file if left out."""
    horizon: Annotated[int, tyro.conf.arg(metavar="N")] = 500
    """Number of pulls in an episode."""
    episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 1_000
    """Number of episodes of each explorer."""
    seed: Seed = 0
    """Seed of the tasks, the noise and the explorers."""
    plot: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """Draw regret against pulls to FILE (.svg, .png or .pdf)."""
    json: bool = False
    """Print one line of JSON: an object, or a list if there are several explorers."""
    settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe regret ucb thompson --family gaussian-bandit",
    "icpe regret explore-then-commit:gaussian-bandit-4 --horizon 200 --json",
)


def run(args: Args) -> int:
    """Measures and prints."""
    from rich.table import Table

    from icpe.cli.explorers import check_words, resolve

    check_seed(args.seed)
    check_num_episodes("--episodes", args.episodes)
    check_at_least("--horizon", args.horizon, 1)
    check_words(args.explorers, args.family, args.settings)
    if args.plot is not None:
        check_figure_path(args.plot)
    from icpe.artifact.artifact import Artifact
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, print_json, progress_meter
    from icpe.core.errors import UnsupportedError
    from icpe.evaluate.plots import check_plot_path, regret_figure, save_figure
    from icpe.evaluate.regret import cumulative_regret, with_horizon
    from icpe.families.registry import describe

    cast = resolve(args.explorers, args.family, args.settings)
    explorers = {}
    for word, contender in cast.explorers.items():
        if isinstance(contender, Artifact):
            raise UnsupportedError(
                f"{word} stops and so has no regret of its own; write "
                f"explore-then-commit:{word}."
            )
        explorers[word] = contender
    if args.plot is not None:
        check_plot_path(args.plot)
    keep_compiled_programs()
    reports = cumulative_regret(
        explorers,
        cast.family,
        horizon=args.horizon,
        episodes=args.episodes,
        seed=args.seed,
        progress=progress_meter(),
    )
    if args.plot is not None:
        save_figure(regret_figure(reports), args.plot)
    if args.json:
        records = [report.to_dict() for report in reports]
        print_json(records[0] if len(records) == 1 else records)
        return 0
    console = output()
    console.print(describe(with_horizon(cast.family, args.horizon)))
    table = Table(box=None, header_style="bold")
    for title in ("explorer", "regret", "95 %", "best arm"):
        table.add_column(title, justify="left" if title == "explorer" else "right")
    for report in reports:
        low, high = report.regret_interval
        table.add_row(
            report.explorer,
            f"{report.regret:.2f}",
            f"{low:.2f}-{high:.2f}",
            f"{report.best_arm_rate:.3f}",
        )
    console.print(table)
    return 0
