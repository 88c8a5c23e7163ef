"""`icpe calibrate`: measure the operating table of a trained explorer again."""

import dataclasses
from typing import Annotated, Literal

import tyro

from icpe.cli.options import Together

_DEFAULT_EPISODES = 4096


@dataclasses.dataclass(frozen=True)
class Args:
    """Measure what a trained explorer does at each price and budget.

    The whole operating table is measured again and written back to the file, which
    is replaced at the very end.
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE")]
    """The file of the explorer."""
    episodes: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")
    ] = None
    """Episodes for each row of the table; as many as before if left out."""
    max_queries: Annotated[
        tuple[int, ...], tyro.conf.arg(metavar="N [N ...]", help_behavior_hint="")
    ] = ()
    """Caps that get rows of their own, beside those that have them already."""
    promise: Annotated[
        Literal["average", "belief"], tyro.conf.arg(metavar="average|belief")
    ] = "average"
    """belief: recalibrate its belief at the times when it would stop by it, instead."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = (
        None
    )
    """Seed of the episodes; the one from before if left out."""
    json: bool = False
    """Print the table as one line of JSON."""
    together: tyro.conf.OmitArgPrefixes[Together] = dataclasses.field(
        default_factory=Together
    )


EXAMPLES = (
    "icpe calibrate mine.safetensors --episodes 20000",
    "icpe calibrate mine.safetensors --max-queries 10 20",
)


def run(args: Args) -> int:
    """Measures and writes back."""
    from icpe.cli.processes import together

    with together(args):
        return _run(args)


def _run(args: Args) -> int:
    from icpe.cli.artifact_files import changeable_file, check_readable
    from icpe.cli.card import print_card
    from icpe.cli.options import as_options, check_seed
    from icpe.cli.processes import written_by_the_first
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.served import check_request
    from icpe.cli.terminal import output, print_json
    from icpe.core.checks import check_num_episodes
    from icpe.core.distributed import leads
    from icpe.core.files import check_writable
    from icpe.core.goals import Request

    if args.seed is not None:
        check_seed(args.seed)
    if args.episodes is not None:
        check_num_episodes("--episodes", args.episodes)
    path = changeable_file(args.file)
    document = check_readable(path)
    for cap in args.max_queries:
        with as_options():
            asked = Request(error_prob=0.5, max_queries=cap)
            check_request(document, asked, usual=True)
    if leads():
        check_writable(path)
    keep_compiled_programs()
    with written_by_the_first(path, "icpe calibrate"):
        artifact = _measured(args, path)
        if leads():
            artifact.save(path)
    assert artifact.table is not None
    if args.json:
        table = artifact.table if args.promise == "average" else artifact.beliefs
        print_json(table.to_dict())
    else:
        console = output()
        print_card(console, artifact.document(), args.file)
        if artifact.certificates:
            console.print(
                "Certificates still serve, but --verify wants one that was made with "
                "this table: icpe certify again, which is another attempt.",
                soft_wrap=True,
            )
    return 0


def _measured(args: Args, path):
    """The explorer of a file, with a new table and a new guard."""
    from icpe.artifact import Artifact
    from icpe.cli.processes import check_same_content
    from icpe.cli.terminal import progress_meter
    from icpe.evaluate.recalibrate import recalibrate
    from icpe.workflow import measured

    artifact = Artifact.load(path)
    check_same_content([path], artifact.family)
    asked = _request(args, artifact.table)
    if args.promise == "belief":
        table = recalibrate(
            artifact,
            episodes=asked["episodes"],
            seed=asked["seed"],
            progress=progress_meter(),
        )
        return dataclasses.replace(artifact, belief_table=table)
    return measured(artifact, **asked, progress=progress_meter())


def _request(args: Args, before) -> dict:
    """What is asked for, completed by what the table had before."""
    if before is None:
        episodes, seed, caps = _DEFAULT_EPISODES, 0, set()
    else:
        episodes = min(row.episodes for row in before.rows)
        seed = before.seed
        caps = {row.max_queries for row in before.rows if row.price is not None}
    return {
        "episodes": episodes if args.episodes is None else args.episodes,
        "seed": seed if args.seed is None else args.seed,
        "max_queries": sorted(caps | set(args.max_queries)),
    }
