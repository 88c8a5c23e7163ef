"""The pages: models and sessions, one session, the sign-in."""

import math
import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path, Request
from fastapi.responses import RedirectResponse, Response

from icpe.artifact.operating_table import OperatingTable
from icpe.core.errors import IcpeError
from icpe.core.family import AbstractTaskFamily
from icpe.core.request import Promise
from icpe.core.request import Request as Goal
from icpe.core.simulate import reveals_something
from icpe.core.units import Units
from icpe.families.registry import describe, family_names, get_factory
from icpe.service.access import Access
from icpe.service.drawings.words import PROMISES
from icpe.service.page.errors import PageRoute, own_page
from icpe.service.page.forms import Form, read_form
from icpe.service.page.outcomes import first_entry_of, read_first_entry
from icpe.service.page.rendering import (
    FILES,
    HEADERS,
    page,
    static_file,
    version_of,
)
from icpe.service.page.visitors import (
    TOKEN_COOKIE,
    Visitor,
    check_form,
    check_rate,
    forget_token,
    keep_token,
    keep_visitor,
    new_from,
    visitor,
)
from icpe.service.views import model_summary

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Who = Annotated[Visitor, Depends(visitor)]
_LISTED, _MOST_FIGURES = 50, 15
_GOALS = ("error_prob", "budget", "price")


@router.get("/")
async def home(request: Request, who: Who) -> Response:
    """The models to start with, and the sessions to go on with."""
    service = request.app.state.service

    def read() -> list[dict[str, Any]]:
        cards, _ = service.models.cards()  # a file that cannot be used is not offered
        found = [model_summary(name, card) for name, card in cards.items()]
        return [it | {"about": _about_family(it["family"])} for it in found]

    models = await service.sessions.blocking(read)
    sessions = await service.sessions.list(_LISTED, None, None)
    return shown(request, who, "home.html", models=models, sessions=sessions)


@router.get("/open")
async def reopen(request: Request, who: Who, id: str = "") -> Response:
    """Goes to a session whose id was typed."""
    entry = await request.app.state.service.sessions.read(id.strip())
    return RedirectResponse(f"/sessions/{entry.id}", 303)


@router.get("/models/{name}")
async def model_page(request: Request, who: Who, name: str) -> Response:
    """A model, and what can be asked of it."""
    return await _model_page(request, who, name)


@router.post("/models/{name}")
async def start(request: Request, who: Who, name: str) -> Response:
    """Starts a session."""
    service = request.app.state.service
    form = await read_form(request)
    check_form(who, form)
    try:
        goal = form.get("goal", "")
        if goal not in _GOALS:
            raise HTTPException(422, "Choose what the session is asked for.")
        asked = Goal(
            error_prob=form.number(goal) if goal == "error_prob" else None,
            budget=form.whole(goal) if goal == "budget" else None,
            price=form.number(goal) if goal == "price" else None,
            max_queries=form.whole("max_queries"),
            promise=_promise(form) if goal == "error_prob" else Promise.AVERAGE,
        )
        model = await service.sessions.blocking(service.models.get, name)
        entry = await service.sessions.create(
            name,
            asked,
            id=form.text("id"),
            token=form.text("token"),
            on_alarm="stop" if "stop_on_alarm" in form else "go on",
            **_start_of(form, model.artifact.family),
        )
    except IcpeError as error:
        return await _model_page(request, who, name, str(error), form)
    return RedirectResponse(f"/sessions/{entry.id}", 303)


@router.get("/sign-in")
async def sign_in_page(request: Request, next: str = "/") -> Response:
    """Where a token is entered."""
    service = request.app.state.service
    if service.access.open_to_all:
        return RedirectResponse(own_page(next), 303)
    problem = None
    if before := request.cookies.get(TOKEN_COOKIE):
        check_rate(service.access, new_from(request))
        problem = await service.sessions.blocking(_why_refused, service.access, before)
    return page("sign_in.html", visitor=None, problem=problem, next=own_page(next))


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Keeps a valid token in a cookie.

    The form needs no key: who signs somebody in from elsewhere needs a token of this
    service, and forms of other sites are refused by their origin.
    """
    service = request.app.state.service
    form = await read_form(request)
    check_rate(service.access, new_from(request))
    given, back = form.text("token") or "", own_page(form.text("next") or "/")
    found = await service.sessions.blocking(service.access.find, given)
    if found is None:
        problem = await service.sessions.blocking(_why_refused, service.access, given)
        return page("sign_in.html", 403, visitor=None, problem=problem, next=back)
    response = RedirectResponse(back, 303)
    keep_token(request, response, given)
    return response


def _why_refused(access: Access, given: str) -> str | None:
    """Why a token is not let in; None if it is."""
    return None if access.find(given) else f"{access.why_refused(given)}."


@router.post("/sign-out")
async def sign_out(request: Request, who: Who) -> Response:
    """Forgets the token."""
    response = RedirectResponse("/sign-in", 303)
    forget_token(response)
    return response


@router.get("/static/{version}/{name}")
async def static(version: str, name: Annotated[str, Path(max_length=40)]) -> Response:
    """The files of the page, which a browser may keep: their addresses change."""
    if name not in FILES or version != version_of(name):
        raise HTTPException(404, "There is no such file.")
    headers = HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(static_file(name), headers=headers, media_type=FILES[name])


def shown(
    request: Request, who: Visitor, template: str, status: int = 200, **values: Any
) -> Response:
    """A page for a visitor."""
    response = page(template, status, visitor=who, **values)
    keep_visitor(request, response, who)
    return response


async def _model_page(
    request: Request,
    who: Visitor,
    name: str,
    problem: str | None = None,
    form: dict[str, str] | None = None,
) -> Response:
    service = request.app.state.service
    model = await service.sessions.blocking(service.models.get, name)
    artifact, spec = model.artifact, model.artifact.family.spec
    units = takes_units(artifact.family)
    reveals = reveals_something(artifact.family)
    return shown(
        request,
        who,
        "model.html",
        200 if problem is None else 422,
        name=name,
        model=model,
        family=describe(artifact.family),
        about=_first_line(type(artifact.family)),
        figures=_figures(artifact.table),
        spec=spec,
        certified=model.certified_error_probs,
        smallest=model.smallest_error_prob,
        promises=PROMISES,
        usual=model.usual_error_prob,
        first=first_entry_of(spec) if reveals and not units else None,
        units=units,
        can_name=spec.asks_about_hypotheses,
        problem=problem,
        form=form or {},
        token=secrets.token_urlsafe(16),
    )


def _promise(form: Form) -> str:
    return form.text("promise") or Promise.AVERAGE


def _start_of(form: Form, family: AbstractTaskFamily) -> dict[str, Any]:
    """What is known before the first question, and the user's names and units."""
    names = [it.strip() for it in form.get("names", "").splitlines() if it.strip()]
    start: dict[str, Any] = {"names": names or None}
    if takes_units(family):
        unit = form.text("unit") or ""
        noise, matters = form.number("noise"), form.number("matters")
        smaller = "smaller_is_better" in form
        return start | {"units": Units(unit, noise, matters, smaller)}
    if reveals_something(family):
        start["first_outcome"] = read_first_entry(form, family.spec)
    return start


def takes_units(family: AbstractTaskFamily) -> bool:
    """Whether a family reads outcomes in any units."""
    return family.any_units() is not None


def _about_family(name: str) -> str:
    """What a family is about; its name alone where it is not ours."""
    known = name in family_names()
    return _first_line(get_factory(name)) if known else name


def _first_line(family: Any) -> str:
    return (family.__doc__ or "").strip().partition("\n")[0]


def _figures(table: OperatingTable | None) -> list[tuple[str, str, str]]:
    """Accuracy, questions and by when nine of ten end; some rows, no two alike."""
    rows = () if table is None else table.priced()
    figures = dict.fromkeys(
        (f"{it.accuracy:.3f}", f"{it.mean_queries:.3g}", str(it.quantiles[1]))
        for it in rows
    )
    return list(figures)[:: max(1, math.ceil(len(figures) / _MOST_FIGURES))]
