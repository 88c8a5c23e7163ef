"""Templates, and the headers that every page has."""

import functools as ft
import hashlib
import importlib.resources
import time
from typing import Any

import jinja2
from fastapi.responses import HTMLResponse

STATIC = importlib.resources.files("icpe.service.page") / "static"
FILES = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Nothing but the files of this service may be loaded, and no script in the page."""


@ft.cache
def static_file(name: str) -> bytes:
    """The content of one of `FILES`."""
    return (STATIC / name).read_bytes()


@ft.cache
def version_of(name: str) -> str:
    """Changes when the file does."""
    return hashlib.sha256(static_file(name)).hexdigest()[:12]


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made from a template; what enters it is escaped."""
    text = _environment().get_template(template).render(values)
    return HTMLResponse(text, status, HEADERS)


@ft.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("icpe.service.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = lambda name: f"/static/{version_of(name)}/{name}"
    environment.filters["moment"] = _moment
    environment.filters["isotime"] = _isotime
    return environment


def _isotime(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _moment(seconds: float) -> str:
    """How long ago, in words for people."""
    ago = max(0, round(time.time() - seconds))
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if ago >= size:
            number = ago // size
            return f"{number} {word}{'' if number == 1 else 's'} ago"
    return "just now"
