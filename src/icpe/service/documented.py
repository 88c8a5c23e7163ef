"""Which answers a route can give, for the OpenAPI schema."""

from typing import Any

from icpe.service.schemas import Problem

_MEANINGS = {
    400: "The request cannot be read.",
    401: "There is no valid access token.",
    403: "The access token does not allow this.",
    404: "There is no such thing.",
    408: "The request took too long to arrive.",
    409: "The state of the session does not allow this now.",
    413: "The request is too large.",
    422: "A value is missing or impossible.",
    429: "These are too many requests.",
    503: "The service cannot do this now; its storage may be away.",
    504: "This took too long.",
}
_ALWAYS = (400, 401, 403, 408, 413, 422, 429, 503, 504)


def answers(*further: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that every route can give, and further ones."""
    return {
        status: {"model": Problem, "description": _MEANINGS[status]}
        for status in sorted({*_ALWAYS, *further})
    }
