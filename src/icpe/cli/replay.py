"""`icpe replay`: check the report of a session."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """Repeat a recorded session, and check that everything comes out the same.

    FILE is the report of a session as JSON. Every question, belief, alarm and stop is
    computed again from the answers and compared bit for bit; the exit status is 1 if
    something differs. Other versions of jax and other processors may round differently.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The report."""
    model: Annotated[
        str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """The explorer's file, or a name from `icpe zoo`.
    By default the model that the report names."""
    json: bool = False
    """Print the result as one line of JSON."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe replay report.json",
    "icpe replay report.json --model mine.safetensors --json",
)


def run(args: Args) -> int:
    """Checks, and says what differs."""
    from icpe.core.errors import InvalidParameterError

    try:
        values = json.loads(args.file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidParameterError(
            f"{args.file} is not the report of a session as JSON."
        ) from error
    except IsADirectoryError:
        raise InvalidParameterError(
            f"{args.file} is a folder; give the report of a session as JSON."
        ) from None
    if not isinstance(values, dict) or "events" not in values:
        raise InvalidParameterError(
            f"{args.file} is not the report of a session; icpe report writes one."
        )
    from icpe.artifact import Artifact
    from icpe.cli.artifact_files import readable_file
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.cli.terminal import print_json
    from icpe.deploy.durable import artifact_hash, check_artifact, versions
    from icpe.deploy.events import Event
    from icpe.deploy.report import read_report, report_problems
    from icpe.deploy.session_rules import SessionRules
    from icpe.deploy.setup import Setup

    report = read_report(values)
    name = args.model or report["model"]
    if name is None:
        raise InvalidParameterError(
            "--model is missing: the report does not name its model; give its file."
        )
    artifact = Artifact.load(readable_file(name))
    created = Event.from_dict(report["events"][0])
    check_artifact(created, artifact_hash(artifact), report["session"])
    keep_compiled_programs()
    rules = SessionRules(Setup.from_dict(created.body, artifact))
    problems = report_problems(report, rules)
    then, now = report["versions"], versions()
    if args.json:
        result = {"same": not problems, "problems": problems, "versions": now}
        print_json({**result, "events": len(report["events"])})
    elif problems:
        for problem in problems:
            print(f"Not the same: {problem}.")
        if then != now:
            print(f"It was made with {then}; this is {now}.")
    else:
        print(
            f"The same, bit for bit: {len(report['events'])} events, answer "
            f"{report['result']['recommendation_name']}."
        )
    return 1 if problems else 0
