"""Problems as pages for people, in the place of JSON for programs."""

import re
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import APIRoute

from icpe.core.errors import IcpeError
from icpe.service.page.rendering import page
from icpe.service.page.visitors import NotSignedInError
from icpe.service.refusals import status_of

_PAGE = re.compile(r"/(sessions|models)/[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}(?![^/])")
_TITLES = {
    403: "Not allowed",
    404: "Not here",
    409: "Not now",
    422: "That does not fit",
    429: "Too many requests",
    503: "Not available now",
}


class PageRoute(APIRoute):
    """A route whose refusals are pages; without a token it leads to the sign-in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def careful(request: Request) -> Response:
            try:
                return await handle(request)
            except NotSignedInError:
                return _to_sign_in(request)
            except IcpeError as error:
                return problem(status_of(error), str(error))
            except RequestValidationError:
                return problem(404, "There is no such page.")
            except HTTPException as error:
                return problem(error.status_code, str(error.detail))

        return careful


def _to_sign_in(request: Request) -> Response:
    """The sign-in, from which one comes back to the same page."""
    back = own_page(request.url.path)
    address = "/sign-in" if back == "/" else f"/sign-in?next={quote(back)}"
    if "hx-request" in request.headers:  # else it would stand in a part of the page
        return Response(headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


def own_page(path: str) -> str:
    """The page of the session or model that a path is about, else the first page."""
    found = _PAGE.match(path)
    return "/" if found is None else found[0]


def problem(status: int, sentence: str) -> Response:
    """A page about what went wrong."""
    title = _TITLES.get(status, "Something went wrong")
    return page("problem.html", status, title=title, sentence=sentence, visitor=None)
