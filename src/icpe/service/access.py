"""Who a request comes from, what it may do, and how often."""

import hashlib
import time
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from icpe.deploy.storage import AbstractStorage, AccessToken
from icpe.service.tokens import allows, find_valid, is_valid, why_invalid

REMEMBERED_SECONDS = 1.0
"""How long a valid token is not looked up again, and so still works when revoked."""
_MOST_REMEMBERED = 10_000
_bearer = HTTPBearer(auto_error=False, description="A token made by `icpe token`.")


class Access:
    """Tokens of the storage, looked up about once a second each."""

    def __init__(self, storage: AbstractStorage, open_to_all: bool, rate: float):
        self._storage, self.open_to_all = storage, open_to_all
        self._known: dict[bytes, tuple[AccessToken, float]] = {}
        self.limits = RateLimits(rate)

    def find(self, given: str) -> AccessToken | None:
        """The valid token that was given; looks into the storage."""
        found = find_valid(self._storage, given)
        if found is not None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[_key(given)] = found, time.monotonic()
        return found

    def why_refused(self, given: str) -> str:
        """What is wrong with a token that was not found; looks into the storage."""
        return why_invalid(self._storage, given)

    def remembered(self, given: str) -> AccessToken | None:
        """The same, if it was looked up just now."""
        found, since = self._known.get(_key(given), (None, 0.0))
        if found is None or time.monotonic() - since > REMEMBERED_SECONDS:
            return None
        return found if is_valid(found) else None


class RateLimits:
    """Token buckets: so many requests per second each, twice as many at once."""

    def __init__(self, rate: float):
        self._rate = rate
        self._buckets: dict[str, tuple[float, float]] = {}

    def seconds_to_wait(self, who: str) -> float:
        """0 if a request may be made now, which then counts."""
        if self._rate <= 0:
            return 0.0
        now, most = time.monotonic(), max(2 * self._rate, 1.0)
        left, since = self._buckets.get(who, (most, now))
        left = min(most, left + (now - since) * self._rate)
        if left < 1.0:
            return (1.0 - left) / self._rate
        if len(self._buckets) >= _MOST_REMEMBERED:
            self._buckets.clear()
        self._buckets[who] = left - 1.0, now
        return 0.0


def require(scope: str):
    """A dependency that lets only those pass who may do this."""

    async def check(
        request: Request,
        credentials: Annotated[
            HTTPAuthorizationCredentials | None, Depends(_bearer)
        ] = None,
    ) -> None:
        service = request.app.state.service
        access: Access = service.access
        host = request.client.host if request.client else "somebody"
        if access.open_to_all:
            _limit(access, host)
            return
        given = "" if credentials is None else credentials.credentials
        token = access.remembered(given)
        if token is None and given:
            _limit(access, f"new from {host}")
            token = await service.sessions.blocking(access.find, given)
        if token is None:
            why = "A valid access token is needed"
            if given:
                why = await service.sessions.blocking(access.why_refused, given)
            raise HTTPException(
                401,
                f"{why}; whoever runs the service makes one by icpe token create, and "
                "it is sent as the header Authorization: Bearer icpe_...",
                {"WWW-Authenticate": "Bearer"},
            )
        request.state.token_id = token.id
        if not allows(token, scope):
            raise HTTPException(
                403,
                f"This needs a token with the scope {scope}; yours has "
                f"{', '.join(token.scopes)}.",
            )
        _limit(access, token.id)

    return Depends(check)


def _limit(access: Access, who: str) -> None:
    wait = access.limits.seconds_to_wait(who)
    if wait > 0:
        raise HTTPException(
            429,
            f"These are too many requests; try again in {wait:.2g} seconds.",
            {"Retry-After": str(max(1, round(wait)))},
        )


def _key(given: str) -> bytes:
    """So that no secret stays in memory longer than a request."""
    return hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
