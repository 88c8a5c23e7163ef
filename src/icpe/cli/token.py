"""`icpe token`: access tokens of the service."""

import dataclasses
from typing import Annotated, Literal

import tyro

from icpe.cli.options import Seed
from icpe.cli.serve import DEFAULT_STORAGE


@dataclasses.dataclass(frozen=True)
class Args:
    """Make, list and revoke access tokens of `icpe serve`.

    A token is printed once, when it is made; the storage keeps a hash of it.
    """

    action: tyro.conf.Positional[Literal["create", "list", "revoke"]]
    """What to do."""
    id: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[ID]")] = (
        None
    )
    """The token to be revoked, as `icpe token list` shows it."""
    storage: Annotated[str, tyro.conf.arg(metavar="URL")] = DEFAULT_STORAGE
    """The storage of the service."""
    scopes: Annotated[str, tyro.conf.arg(metavar="WORDS")] = "run"
    """What it allows: read, run (create and answer sessions) or admin (make tokens).
    Each includes those before it."""
    name: Annotated[str, tyro.conf.arg(metavar="TEXT")] = "unnamed"
    """Whose it is, for the list."""
    days: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = (
        None
    )
    """Days after which it expires; it does not if left out."""
    json: bool = False
    """Print the result as one line of JSON."""
    seed: Seed = 0
    """Ignored here; accepted by every command. Tokens are random in any case."""


EXAMPLES = (
    "icpe token create --scopes run --days 30",
    "icpe token list",
)


def run(args: Args) -> int:
    """Makes, lists or revokes."""
    from icpe.cli.stored import check_storage
    from icpe.core.errors import InvalidParameterError

    if args.action == "revoke" and args.id is None:
        raise InvalidParameterError(
            "ID is missing; icpe token list shows the ids of all tokens."
        )
    if args.action != "revoke" and args.id is not None:
        name = f"; --name {args.id} says whose it is" * (args.action == "create")
        raise InvalidParameterError(
            f"icpe token {args.action} takes no ID; got {args.id!r}{name}."
        )
    check_storage("--storage", args.storage, exists=args.action != "create")
    from icpe.deploy.storage import open_storage

    storage = open_storage(args.storage)
    try:
        {"create": _create, "list": _list, "revoke": _revoke}[args.action](
            args, storage
        )
    finally:
        storage.close()
    return 0


def _create(args: Args, storage) -> None:
    from icpe.cli.terminal import print_json
    from icpe.service.tokens import create_token

    scopes = args.scopes.replace(",", " ").split()
    text, token = create_token(storage, args.name, scopes, days=args.days)
    if args.json:
        print_json({"token": text, **_record(token)})
    else:
        print(text)


def _list(args: Args, storage) -> None:
    from rich.table import Table

    from icpe.cli.terminal import output, print_json

    found = storage.tokens()
    if args.json:
        print_json([_record(token) for token in found])
        return
    table = Table(box=None)
    for heading in ("id", "name", "scopes", "made", "state"):
        table.add_column(heading)
    for token in found:
        made = _day(token.created)
        table.add_row(token.id, token.name, " ".join(token.scopes), made, _state(token))
    output().print(table if found else "No tokens.")


def _revoke(args: Args, storage) -> None:
    import time

    from icpe.cli.terminal import print_json

    storage.revoke_token(args.id, time.time())
    if args.json:
        print_json({"revoked": args.id})
    else:
        print(f"Token {args.id} is revoked.")


def _record(token) -> dict:
    values = {name: it for name, it in vars(token).items() if name != "digest"}
    return {**values, "scopes": list(token.scopes)}


def _state(token) -> str:
    from icpe.service.tokens import is_valid

    if token.revoked is not None:
        return f"revoked {_day(token.revoked)}"
    if not is_valid(token):
        return f"expired {_day(token.expires)}"
    return "valid" if token.expires is None else f"until {_day(token.expires)}"


def _day(seconds: float) -> str:
    import datetime

    return f"{datetime.datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
