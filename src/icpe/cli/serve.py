"""`icpe serve`: sessions over HTTP."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from icpe.cli.options import Seed

DEFAULT_STORAGE = "sqlite:///icpe-sessions.db"


@dataclasses.dataclass(frozen=True)
class Args:
    """Serve sessions over HTTP, to programs and people.

    Sessions are kept in a database, so they survive a restart. Clients need tokens,
    made by `icpe token create`; with --open, this machine alone is served, without
    tokens.
    """

    storage: Annotated[str, tyro.conf.arg(metavar="URL")] = DEFAULT_STORAGE
    """Where sessions are kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE."""
    models: Annotated[
        Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")
    ] = None
    """Folder of trained explorers, which are known by the names of their files; those
    of `icpe zoo` if left out."""
    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, tyro.conf.arg(metavar="N")] = 8000
    """The port to listen on."""
    workers: Annotated[int, tyro.conf.arg(metavar="N")] = 2
    """How many processes serve."""
    open: bool = False
    """Let everybody on this machine do everything, without tokens."""
    rate: Annotated[float, tyro.conf.arg(metavar="X")] = 100.0
    """Requests per second that one token may make of each worker; 0 for any number."""
    max_body: Annotated[int, tyro.conf.arg(metavar="BYTES")] = 1_000_000
    """The largest request that is read."""
    max_history: Annotated[int, tyro.conf.arg(metavar="N")] = 10_000
    """The longest history that is taken at once."""
    no_warm: bool = False
    """Say at once that the service is ready; a model is then compiled when it is first
    used."""
    quiet: bool = False
    """Do not log every request."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe serve --open",
    "icpe serve --storage postgresql://icpe@localhost/icpe --models explorers",
)


def run(args: Args) -> int:
    """Serves until it is stopped."""
    from icpe.service.settings import Settings

    settings = _settings(args, Settings)
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.deploy.storage import check_serve_extra, open_storage

    for package in ("fastapi", "uvicorn", "sqlalchemy", "prometheus_client", "jinja2"):
        check_serve_extra(package, "icpe serve")
    from icpe.service.server import check_address, run_server
    from icpe.service.workers import listening

    check_address(args.host, args.open)
    # Before the storage is touched and anything is announced.
    with listening(args.host, args.port) as door:
        is_new = _is_new(settings.storage)
        storage = open_storage(settings.storage)
        has_tokens = bool(storage.tokens())
        storage.close()
        keep_compiled_programs()
        port = door.getsockname()[1]
        for line in _greeting(args, settings, port, is_new, has_tokens):
            print(line, flush=True)
        run_server(settings, door, args.workers)
    return 0


def _greeting(args: Args, settings, port: int, is_new: bool, has_tokens: bool):
    """What whoever starts a service should know."""
    from icpe.service.models import Models

    usable, problems = Models(settings.models_folder).cards()
    number = f"{len(usable)} model{'' if len(usable) == 1 else 's'}"
    shown = f"[{args.host}]" if ":" in args.host else args.host
    yield (
        f"icpe serves {number} on http://{shown}:{port} (API: /v1/openapi.json); "
        "Ctrl-C stops it."
    )
    if settings.storage != "memory://":
        new = ", a new file" if is_new else ""
        yield f"Sessions are kept in {_place(settings.storage)}{new}."
    for name, problem in problems.items():
        yield f"{name} is not offered: {problem}"
    if not usable:
        yield (
            f"There is no trained explorer in {settings.models_folder} yet; files put "
            "there are offered at once."
        )
    if not args.open and not has_tokens:
        yield (
            "Nobody can use it yet: make a token with icpe token create --storage "
            f"{_shown(settings.storage)}, or serve this machine alone with --open."
        )


def _place(storage: str) -> str:
    """The file, or the database without its password."""
    from sqlalchemy import make_url

    url = make_url(storage)
    if url.drivername == "sqlite" and url.database:
        return str(Path(url.database).absolute())
    return _shown(storage)


def _shown(storage: str) -> str:
    from sqlalchemy import make_url

    return make_url(storage).render_as_string(hide_password=True)


def _is_new(storage: str) -> bool:
    return storage.startswith("sqlite:///") and not Path(_place(storage)).exists()


def _settings(args: Args, Settings):
    from icpe.cli.stored import check_storage
    from icpe.core.checks import check_at_least, check_between
    from icpe.core.errors import InvalidParameterError

    check_between("--port", args.port, 0, 65535)
    check_between("--workers", args.workers, 1, 64)
    check_at_least("--rate", args.rate, 0.0)
    check_at_least("--max-body", args.max_body, 1000)
    check_at_least("--max-history", args.max_history, 1)
    if args.models is not None and not args.models.is_dir():
        raise InvalidParameterError(
            f"--models must be a folder of trained explorers; got {args.models}."
        )
    check_storage("--storage", args.storage, exists=False)
    if args.storage == "memory://" and args.workers > 1:
        raise InvalidParameterError(
            "--storage memory:// is not shared by processes; add --workers 1, or use "
            "sqlite:///FILE."
        )
    return Settings(
        storage=args.storage,
        models=None if args.models is None else str(args.models.absolute()),
        open=args.open,
        rate=args.rate,
        max_body=args.max_body,
        max_history=args.max_history,
        log=not args.quiet,
        warm=not args.no_warm,
    )
