"""`icpe compare`: explorers at equal accuracy."""

import dataclasses
import math
from typing import Annotated

import tyro

from icpe.cli.options import FamilyName, Seed, Settings, Source, check_seed
from icpe.core.checks import check_num_episodes
from icpe.core.errors import InvalidParameterError


@dataclasses.dataclass(frozen=True)
class Args:
    """Compare the costs of explorers at equal accuracy, on the same fresh tasks.

    Each explorer is brought to the accuracy: a trained one by its price, a rule with a
    posterior by its threshold, a classical method by the scale of its threshold.
    Intervals are 95 %, from paired episodes.
    """

    explorers: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="EXPLORER [EXPLORER ...]", help_behavior_hint=""),
    ]
    """Who is compared, the first with each of the others.
    A trained explorer's file, or a name from `icpe zoo` or `icpe baselines`."""
    family: FamilyName = None
    """The family the tasks come from; that of the file if left out."""
    source: tyro.conf.OmitArgPrefixes[Source] = dataclasses.field(
        default_factory=Source
    )
    accuracy: Annotated[float, tyro.conf.arg(metavar="A")] = 0.9
    """The share of right answers at which they are compared."""
    episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 10_000
    """Number of episodes, the same for all."""
    seed: Seed = 0
    """Seed of the tasks, the noise and the explorers."""
    json: bool = False
    """Print one line of JSON."""
    settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe compare gaussian-bandit-4 top-two track-and-stop",
    "icpe compare mine.safetensors uniform --accuracy 0.95 --episodes 2000",
)


def run(args: Args) -> int:
    """Compares and prints."""
    from icpe.cli.explorers import check_words, resolve
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import output, print_json, progress_meter

    check_seed(args.seed)
    check_num_episodes("--episodes", args.episodes, fewest=2)
    if not 0.0 < args.accuracy < 1.0:
        raise InvalidParameterError(
            "--accuracy must lie strictly between 0 and 1, as in 0.9; got "
            f"{args.accuracy:g}."
        )
    check_words(args.explorers, args.family, args.settings, args.source)
    if len(args.explorers) < 2:
        raise InvalidParameterError(_one_is_too_few(args))
    from icpe.evaluate.equal_accuracy import compare_at_accuracy
    from icpe.evaluate.report import family_record
    from icpe.families.registry import describe

    cast = resolve(args.explorers, args.family, args.settings, args.source)
    keep_compiled_programs()
    rows = compare_at_accuracy(
        cast.explorers,
        cast.family,
        args.accuracy,
        episodes=args.episodes,
        seed=args.seed,
        progress=progress_meter(),
    )
    if args.json:
        record = {
            "family": family_record(cast.family),
            "accuracy": args.accuracy,
            "episodes": args.episodes,
            "seed": args.seed,
            "explorers": [dataclasses.asdict(row) for row in rows],
        }
        print_json(record)
        return 0
    console = output()
    console.print(describe(cast.family))
    unit = "cost" if cast.family.spec.costs else "queries"
    for line in comparison_lines([dataclasses.asdict(row) for row in rows], unit):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"All at accuracy {args.accuracy:g}, on the same {args.episodes} tasks; saved: "
        f"what {rows[0].explorer} saves relative to each of the others.",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
    return 0


def _one_is_too_few(args: Args) -> str:
    """A complaint about a single explorer, with baselines that serve its family."""
    from icpe.cli import catalog

    (word,) = args.explorers
    family = _family_of(word, args)
    serving = [
        card["name"]
        for card in catalog.explorer_cards()
        if family in card["families"] and not card["is_wrapper"]
    ]
    others = [name for name in serving if name != word.partition(":")[0]]
    others.sort(key=lambda name: name not in _USUAL)
    named = f", such as {' or '.join(others[:3])}" if others else ""
    return (
        f"EXPLORER {word} has nobody to be compared with; name two or more explorers: "
        f"add others{named}; `icpe baselines` lists all."
    )


_USUAL = ("information-gain", "sprt", "top-two", "track-and-stop", "uniform")
"""Baselines that are named first."""
_FROM_DATA = {"likelihoods": "likelihoods", "network": "network", "items": "item-bank"}
"""The names of families from data, by the option that brings these."""


def _family_of(word: str, args: Args) -> str | None:
    """The name of the family that an explorer is to play, as far as it is known."""
    from icpe.cli.artifact_files import check_readable, file_named

    if args.source.is_given:
        given = (kind for kind in _FROM_DATA if getattr(args.source, kind) is not None)
        return _FROM_DATA[next(given)]
    if args.family is not None:
        return args.family
    path = file_named(word) or file_named(word.partition(":")[2])
    return None if path is None else check_readable(path)["family"]["name"]


def comparison_lines(rows: list[dict], unit: str = "queries") -> list[str]:
    """The table of `icpe compare`, from the objects that --json prints."""
    cells = [("explorer", unit, "95 %", "saved", "95 %")]
    for row in rows:
        cells.append(
            (
                row["explorer"],
                *_shown(
                    row["mean_cost"],
                    row["mean_cost_interval"],
                    "{:.2f}",
                    row.get("highest_accuracy"),
                ),
                *_shown(row["saving"], row["saving_interval"], "{:.1%}", absent=""),
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def _shown(
    value: float | None,
    interval,
    style: str,
    highest: float | None = None,
    *,
    absent: str = "never",
) -> tuple[str, str]:
    if value is None or interval is None:
        reached = "" if highest is None else f"reaches only {_rounded_down(highest)}"
        return absent, reached
    low, high = (style.format(end).replace("%", "") for end in interval)
    return style.format(value).replace("%", " %"), f"{low} to {high}"


def _rounded_down(accuracy: float) -> str:
    return f"{math.floor(accuracy * 1000) / 1000:.3f}"
