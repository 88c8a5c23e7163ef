"""Who looks at the page: a token in a cookie, and forms that came from the page.

The token is entered once and kept in a cookie that scripts cannot read and that other
sites cannot send. A form carries a key that only the page could have written: a hash,
keyed by the token, of a random value in a second cookie.
"""

import hmac
import re
import secrets
from typing import NamedTuple

from fastapi import HTTPException, Request
from fastapi.responses import Response

from icpe.service.access import Access
from icpe.service.page.forms import Form
from icpe.service.tokens import allows

TOKEN_COOKIE = "icpe_token"
PAGE_COOKIE = "icpe_page"
_DAYS_KEPT = 30
_RANDOM = re.compile(r"[A-Za-z0-9_-]{22}")


class NotSignedInError(Exception):
    """A page that needs a token was asked for without a valid one."""


class Visitor(NamedTuple):
    """Who asks for a page.

    Attributes:
        name: of the token, None where everybody may come in.
        may_run: whether sessions may be changed.
        key: what forms have to carry.
        random: of the second cookie.
    """

    name: str | None
    may_run: bool
    key: str
    random: str


async def visitor(request: Request) -> Visitor:
    """Who asks, by the cookies.

    Raises:
        NotSignedInError: there is no valid token in the cookie.
        HTTPException: these are too many requests.
    """
    service = request.app.state.service
    access: Access = service.access
    random = request.cookies.get(PAGE_COOKIE, "")
    if not _RANDOM.fullmatch(random):
        random = secrets.token_urlsafe(16)
    if access.open_to_all:
        check_rate(access, _host(request))
        return Visitor(None, True, _key("", random), random)
    given = request.cookies.get(TOKEN_COOKIE, "")
    token = access.remembered(given)
    if token is None and given:
        check_rate(access, new_from(request))
        token = await service.sessions.blocking(access.find, given)
    if token is None:
        raise NotSignedInError
    request.state.token_id = token.id
    check_rate(access, token.id)
    return Visitor(token.name, allows(token, "run"), _key(given, random), random)


def check_form(who: Visitor, form: Form) -> None:
    """Raises unless the form was written by the page for this visitor.

    Raises:
        HTTPException: it was not, or the visitor may only look.
    """
    if not hmac.compare_digest(form.get("key", ""), who.key):
        raise HTTPException(
            403, "This form is out of date; go back, reload the page and try again."
        )
    if not who.may_run:
        raise HTTPException(
            403, "Your token allows looking only; changes need one with the scope run."
        )


def keep_visitor(request: Request, response: Response, who: Visitor) -> None:
    """Sets the second cookie, if the browser has it not."""
    if request.cookies.get(PAGE_COOKIE) != who.random:
        _set_cookie(request, response, PAGE_COOKIE, who.random)


def keep_token(request: Request, response: Response, token: str) -> None:
    """Signs in."""
    _set_cookie(request, response, TOKEN_COOKIE, token)


def forget_token(response: Response) -> None:
    """Signs out."""
    response.delete_cookie(TOKEN_COOKIE, httponly=True, samesite="strict")


def new_from(request: Request) -> str:
    """Who is counted where a token is not known yet."""
    return f"new from {_host(request)}"


def _host(request: Request) -> str:
    return request.client.host if request.client else "somebody"


def check_rate(access: Access, who: str) -> None:
    """Raises if these are too many requests."""
    wait = access.limits.seconds_to_wait(who)
    if wait > 0:
        raise HTTPException(429, "These are too many requests; wait a moment.")


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=_DAYS_KEPT * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=_is_encrypted(request),
    )


def _is_encrypted(request: Request) -> bool:
    """Whether the browser speaks TLS, with us or with a proxy in front."""
    by_proxy = request.headers.get("x-forwarded-proto", "")
    return "https" in (request.url.scheme, by_proxy)


def _key(token: str, random: str) -> str:
    return hmac.digest(token.encode(), random.encode(), "sha256").hex()
