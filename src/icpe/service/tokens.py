"""Access tokens: who may do what. Only hashes of them are kept."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Sequence

from icpe.core.errors import InvalidParameterError
from icpe.deploy.storage import AbstractStorage, AccessToken

SCOPES = ("read", "run", "admin")
"""Each allows what those before it allow: to look; to create and answer sessions; to
make and revoke tokens."""
_TOKEN = re.compile(r"icpe_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LONGEST_NAME = 100


def create_token(
    storage: AbstractStorage,
    name: str,
    scopes: Sequence[str],
    *,
    days: float | None = None,
) -> tuple[str, AccessToken]:
    """Makes a token and keeps its hash; the token itself cannot be had again.

    Raises:
        InvalidParameterError: a scope is unknown, the name is empty or long, or days
            is not positive.
    """
    check_scopes(scopes)
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidParameterError(
            f"name must have 1 to {_LONGEST_NAME} printable characters; got {name!r}."
        )
    if days is not None and not 0 < days < 1e6:
        raise InvalidParameterError(f"days must be positive; got {days}.")
    now = time.time()
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    token = AccessToken(
        id=id,
        digest=_digest(secret),
        name=name,
        scopes=tuple(sorted(set(scopes), key=SCOPES.index)),
        created=now,
        expires=None if days is None else now + 86_400 * days,
    )
    storage.add_token(token)
    return f"icpe_{id}_{secret}", token


def check_scopes(scopes: Sequence[str]) -> None:
    """Raises one sentence unless all scopes are known and there is one."""
    if not scopes or set(scopes) - set(SCOPES):
        raise InvalidParameterError(
            f"scopes must be some of {', '.join(SCOPES)}; got "
            f"{', '.join(scopes) or 'none'}."
        )


def allows(token: AccessToken, scope: str) -> bool:
    """Whether a token allows what a scope is about."""
    return max(map(SCOPES.index, token.scopes)) >= SCOPES.index(scope)


def find_valid(storage: AbstractStorage, given: str) -> AccessToken | None:
    """The token that a client gave, if it is one and is valid now."""
    found = _find_genuine(storage, given)
    return found if found is not None and is_valid(found) else None


def why_invalid(storage: AbstractStorage, given: str) -> str:
    """What is wrong with a token, which whoever has all of it may know."""
    found = _find_genuine(storage, given)
    if found is None:
        return "This is no token of this service"
    ended = found.expires if found.revoked is None else found.revoked
    if ended is None:
        return "This token is not valid"
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(ended))
    how = "expired" if found.revoked is None else "was revoked"
    return f"This token {how} on {moment}"


def _find_genuine(storage: AbstractStorage, given: str) -> AccessToken | None:
    """The token whose secret was given, whether it is still valid or not."""
    parts = _TOKEN.fullmatch(given)
    if parts is None:
        return None
    found = storage.find_token(parts[1])
    if found is None or not hmac.compare_digest(found.digest, _digest(parts[2])):
        return None
    return found


def is_valid(token: AccessToken) -> bool:
    """Whether it is neither revoked nor expired."""
    now = time.time()
    return token.revoked is None and (token.expires is None or now < token.expires)


def _digest(secret: str) -> str:
    """A plain hash is enough: the secret has 256 random bits and cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()
