"""`icpe sessions`: the sessions of a storage."""

import dataclasses
from typing import Annotated, Literal

import tyro

from icpe.cli.options import Seed


@dataclasses.dataclass(frozen=True)
class Args:
    """List the sessions of a storage, the latest first.

    `icpe report` writes the report of one of them.
    """

    storage: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="STORAGE")]
    """Where they are kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE."""
    status: Annotated[
        Literal["open", "stopped", "closed"] | None,
        tyro.conf.arg(metavar="open|stopped|closed", help_behavior_hint=""),
    ] = None
    """Only sessions with this status; all if left out."""
    limit: Annotated[int, tyro.conf.arg(metavar="N")] = 100
    """List at most N sessions."""
    json: bool = False
    """Print the list as one line of JSON."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe sessions sqlite:///trial.db",
    "icpe sessions sqlite:///trial.db --status open --json",
)


def run(args: Args) -> int:
    """Lists them."""
    from icpe.cli.stored import check_stored, stored
    from icpe.cli.terminal import output, print_json
    from icpe.core.checks import check_at_least

    check_at_least("--limit", args.limit, 1)
    check_stored(args.storage)
    from icpe.deploy.events import Status

    status = None if args.status is None else Status(args.status)
    with stored(args.storage) as storage:
        found = storage.sessions(args.limit, status=status)
    if args.json:
        print_json([{**vars(it), "status": str(it.status)} for it in found])
    elif found:
        output().print(_table(found))
    else:
        print("No sessions.")
    return 0


def _table(found):
    from rich.table import Table

    table = Table(box=None)
    for heading in ("session", "model", "status", "begun", "last event"):
        table.add_column(heading, overflow="fold")
    for it in found:
        moments = (_moment(it.created), _moment(it.updated))
        table.add_row(it.id, it.model or "-", str(it.status), *moments)
    return table


def _moment(seconds: float) -> str:
    import datetime

    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"
