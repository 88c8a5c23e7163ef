"""`icpe report`: the report of a session that is kept in a storage."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro

from icpe.cli.options import Seed

_KINDS = (".html", ".json", ".csv")


def _optional(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


@dataclasses.dataclass(frozen=True)
class Args:
    """Write the report of a session: what was asked, answered and believed, and why.

    FILE.html is a page for people, which needs nothing else; FILE.json can be checked
    by `icpe replay`; FILE.csv has the answers, one a row.
    """

    storage: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="STORAGE")]
    """Where the session is kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE."""
    session: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SESSION")]
    """The id of the session, as `icpe sessions` lists it."""
    out: Annotated[Path | None, _optional("FILE")] = None
    """Where it is written, as .html, .json or .csv; SESSION.html if left out."""
    overwrite: bool = False
    """Replace FILE if it is there already."""
    model: Annotated[str | None, _optional("FILE")] = None
    """The explorer's file, or a name from `icpe zoo`.
    By default the model that the session names."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe report sqlite:///trial.db trial-7 --out report.html",
    "icpe report sqlite:///trial.db trial-7 --model mine.safetensors --out report.json",
)


def run(args: Args) -> int:
    """Reads the session, and writes its report."""
    from icpe.cli.artifact_files import check_out
    from icpe.cli.stored import check_stored, stored
    from icpe.core.errors import InvalidParameterError, UnknownNameError
    from icpe.core.files import replacing, writing

    out = args.out or Path(f"{args.session}.html")
    if out.suffix.lower() not in _KINDS:
        raise InvalidParameterError(
            f"--out must end with {', '.join(_KINDS[:-1])} or {_KINDS[-1]}; got {out}."
        )
    check_stored(args.storage)
    check_out(out, overwrite=args.overwrite)
    from icpe.deploy.storage import check_session_id

    with stored(args.storage) as storage:
        events = tuple(storage.read(check_session_id(args.session)))
        if not events:
            raise UnknownNameError(
                f"There is no session {args.session!r} in {args.storage}; "
                f"icpe sessions {args.storage} lists those there are."
            )
        text = _text(args, storage, events, out.suffix.lower())
    with writing(out), replacing(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{out} has the report of session {args.session}.")
    return 0


def _text(args: Args, storage, events, kind: str) -> str:
    import json

    from icpe.artifact import Artifact
    from icpe.cli.artifact_files import file_named
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.core.errors import InvalidParameterError
    from icpe.deploy.durable import DurableSession

    name = args.model or events[0].body.get("model")
    path = None if name is None else file_named(name)
    if path is None or not path.is_file():
        found = "names no model" if name is None else f"names {name!r}, not found here"
        raise InvalidParameterError(
            f"--model must be the file of the session's explorer: session "
            f"{args.session!r} {found}."
            if args.model is None
            else f"--model {args.model} is neither a file nor a name of the zoo."
        )
    keep_compiled_programs()
    session = DurableSession(Artifact.load(path), storage, args.session, events)
    if kind == ".csv":
        return session.answers_csv()
    if kind == ".html":
        return session.report_html()
    return json.dumps(session.report(), allow_nan=False)
