"""`icpe rule`: a rule with an exact belief as an explorer, without training."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import Seed, Settings, Source, check_seed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Args:
    """Make an explorer from a rule, without training, and write it to a file.

    The family gives the exact posterior, a score chooses the queries, and a threshold
    on the posterior says when to stop. The file can be calibrated, certified, played
    and served like that of a trained explorer. Set the parameter x of the family by
    --family.x VALUE.
    """

    family: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="FAMILY", help_behavior_hint=""),
    ] = ""
    """A family with an exact belief or a likelihood; `icpe tasks` lists families.
    Leave it out if you give data."""
    source: tyro.conf.OmitArgPrefixes[Source] = dataclasses.field(
        default_factory=Source
    )
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """Where the explorer is written."""
    score: Annotated[
        str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")
    ] = None
    """How queries are chosen: information-gain, top-two, or another baseline.
    By default the cheapest at accuracy 0.9 in a short trial."""
    overwrite: bool = False
    """Replace FILE if it is there already, with its certificates."""
    calibration_episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 4096
    """Episodes for each row of the operating table."""
    seed: Seed = 0
    """Seed of the episodes."""
    json: bool = False
    """Print everything that is known about it as one line of JSON."""
    settings: Settings = dataclasses.field(default_factory=dict)


EXAMPLES = (
    "icpe rule gaussian-bandit --out mine.safetensors",
    "icpe rule binary-search --score information-gain --out mine.safetensors",
)


def run(args: Args) -> int:
    """Makes, measures, saves."""
    from icpe.cli import catalog
    from icpe.cli.artifact_files import check_out
    from icpe.cli.card import print_card
    from icpe.cli.families import build_family, check_family
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import finite, output, print_json, progress_meter
    from icpe.core.checks import check_num_episodes
    from icpe.core.locks import locked

    check_seed(args.seed)
    check_num_episodes("--calibration-episodes", args.calibration_episodes)
    check_out(args.out, overwrite=args.overwrite)
    check_family(args.family, args.settings, args.source)
    if args.score is not None:
        catalog.explorer_card(args.score.partition(":")[0])
    from icpe.workflow import make_rule

    family = build_family(args.family, args.settings, args.source)
    keep_compiled_programs()
    with locked(args.out, "icpe rule"):
        artifact = make_rule(
            family,
            args.score,
            calibration_episodes=args.calibration_episodes,
            seed=args.seed,
            progress=progress_meter(),
        )
        check_out(args.out, overwrite=args.overwrite)
        artifact.save(args.out)
    if args.json:
        print_json(finite(artifact.document()))
    else:
        print_card(output(), artifact.document(), str(args.out))
    return 0
