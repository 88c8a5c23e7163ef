"""One session in the browser: look, answer, skip, undo, close, download."""

import json
import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse, Response

from icpe.core.errors import IcpeError, InvalidOutcomeError
from icpe.core.simulate import reveals_something
from icpe.deploy.answers_csv import answers_csv
from icpe.deploy.events import Kind
from icpe.deploy.repeats import Repeatable
from icpe.deploy.report import session_report
from icpe.deploy.report_html import report_page
from icpe.service import actions
from icpe.service.drawings import words
from icpe.service.drawings.findings import findings
from icpe.service.drawings.fitting import view_of
from icpe.service.drawings.posterior import posterior_bars, share
from icpe.service.drawings.scene import Scene
from icpe.service.drawings.weighing import (
    weighing_chart,
    weighing_legend,
    weighing_rule,
    weighing_sentence,
)
from icpe.service.page.errors import PageRoute
from icpe.service.page.forms import Form, read_form
from icpe.service.page.outcomes import entry_of, read_entry
from icpe.service.page.rendering import HEADERS
from icpe.service.page.routes import shown
from icpe.service.page.timeline import scene_of
from icpe.service.page.visitors import Visitor, check_form, visitor
from icpe.service.refusals import status_of
from icpe.service.sessions import Entry

router = APIRouter(prefix="/sessions", route_class=PageRoute, include_in_schema=False)
Who = Annotated[Visitor, Depends(visitor)]
Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


@router.get("/{id}")
async def look(
    request: Request, who: Who, id: Id, at: int | None = None, query: int | None = None
) -> Response:
    """A session now, or after `at` answers; `query` chooses what to answer."""
    return await _session_page(request, who, id, at, query)


@router.get("/{id}/report.{suffix}")
async def report(
    request: Request, who: Who, id: Id, suffix: Literal["html", "json", "csv"]
) -> Response:
    """The report of a session for people or programs, or its answers as a table."""
    sessions = request.app.state.service.sessions
    entry: Entry = await sessions.read(id)
    make, kind = _FILES[suffix]
    text = await sessions.blocking(make, entry)
    name = f'attachment; filename="session-{id}.{suffix}"'
    headers = HEADERS | {"Content-Disposition": name}
    return Response(text, headers=headers, media_type=kind)


@router.post("/{id}/tell")
async def tell(request: Request, who: Who, id: Id) -> Response:
    """Takes in an answer."""
    form = await read_form(request)

    def told(entry: Entry) -> actions.Told:
        size = entry.rules.setup.family.spec.num_queries
        mask = _mask(form, size) if "masked" in form else None
        outcome = _outcome(form, entry)
        return actions.Told(form.whole("query"), outcome, "terminated" in form, mask)

    action = actions.telling(told, Repeatable(form.text("token"), Kind.TOLD))
    return await _change(request, who, id, form, action)


@router.post("/{id}/skip")
async def skip(request: Request, who: Who, id: Id) -> Response:
    """Asks something else."""
    form = await read_form(request)
    action = actions.skipping(form.whole("query"), form.text("token"))
    return await _change(request, who, id, form, action)


@router.post("/{id}/undo")
async def undo(request: Request, who: Who, id: Id) -> Response:
    """Takes back the last answer or skip."""
    form = await read_form(request)
    action = actions.undoing(form.text("token"))
    return await _change(request, who, id, form, action)


@router.post("/{id}/close")
async def close(request: Request, who: Who, id: Id) -> Response:
    """Takes nothing more."""
    form = await read_form(request)
    action = actions.closing(form.text("token"))
    return await _change(request, who, id, form, action)


async def _change(
    request: Request, who: Visitor, id: str, form: Form, action: actions.Action
) -> Response:
    """Does something once, however often the form is sent."""
    check_form(who, form)
    service = request.app.state.service
    try:
        await service.sessions.change(id, *action, form.whole("number"))
    except IcpeError as error:
        if status_of(error) == 404:
            raise
        return await _session_page(
            request, who, id, None, None, problem=error, form=form
        )
    return RedirectResponse(f"/sessions/{id}", 303)


async def _session_page(
    request: Request,
    who: Visitor,
    id: str,
    at: int | None,
    query: int | None,
    problem: IcpeError | None = None,
    form: Form | None = None,
) -> Response:
    service = request.app.state.service
    entry: Entry = await service.sessions.read(id)
    moments = await request.app.state.timelines.moments(entry)
    scene = scene_of(entry, moments, at)
    drawn = await service.sessions.blocking(_drawn, scene)
    question = _question(scene, query)
    return shown(
        request,
        who,
        "session.html",
        200 if problem is None else status_of(problem),
        id=id,
        model=entry.events[0].body["model"] or "",
        family=entry.events[0].body["family"],
        number=entry.number,
        scene=scene,
        spec=scene.spec,
        question=question,
        entry=entry_of(scene.family, None if question is None else question["query"]),
        needs_mask=_needs_mask(scene),
        may_end=scene.spec.may_end is not False,
        skipped=sorted(entry.state.skipped),
        problem=None if problem is None else " ".join(str(problem).split()),
        form=form or Form(),
        token=secrets.token_urlsafe(16),
        **drawn,
    )


def _report(entry: Entry) -> dict[str, Any]:
    return session_report(entry.id, entry.rules, entry.events)


_FILES = {
    "html": (lambda entry: report_page(_report(entry)), "text/html"),
    "json": (lambda entry: json.dumps(_report(entry)), "application/json"),
    "csv": (lambda entry: answers_csv(entry.rules, entry.events), "text/csv"),
}


def _drawn(scene: Scene) -> dict[str, Any]:
    """Everything that is drawn or said, which takes a while for large pictures."""
    belief = scene.now.posterior
    best = scene.now.recommendation
    first = scene.known
    if reveals_something(scene.family) and not first:
        first = scene.spec.describe_outcome(scene.moments[0].outcome)
    return {
        "view": view_of(scene),
        "findings": findings(scene),
        "belief": posterior_bars(scene),
        "weighing": weighing_sentence(scene),
        "rule": weighing_rule(scene),
        "chart": weighing_chart(scene),
        "legend": weighing_legend(scene),
        "assurance": words.assurance(scene),
        "request_line": words.request_line(scene),
        "cost": words.cost_line(scene),
        "outlook": words.outlook(scene),
        "typical": words.typical_total(scene),
        "standing": words.standing(scene),
        "end": words.end_sentence(scene),
        "first": first,
        "sure": None if belief is None else share(float(belief[best])),
    }


def _question(scene: Scene, chosen: int | None) -> dict[str, Any] | None:
    """The question to be answered: the one asked for, unless another was chosen."""
    if not scene.open_queries or not scene.is_live:
        return None
    spec, asked = scene.spec, scene.open_queries
    query = asked[0]
    known = chosen is not None and 0 <= chosen < spec.num_queries
    if chosen in asked or (known and not scene.stopped and scene.allowed[chosen]):
        query = chosen
    assert query is not None
    name = spec.query_name(query)
    return {
        "query": query,
        "name": name,
        "text": spec.question.replace("{query}", name),
        "note": scene.family.query_note(query),
        "asked": query in asked,
        "asked_for": ", ".join(map(spec.query_name, asked)),
        "cost": spec.costs[query] if spec.costs else None,
    }


def _needs_mask(scene: Scene) -> bool:
    """Whether only the user knows which queries are allowed next."""
    if not scene.spec.masks_queries:
        return False
    history = scene.history()
    return scene.family.query_mask(history.outcomes[0], history) is None


def _outcome(form: Form, entry: Entry) -> Any:
    """What was entered: one number in the user's units, or as the family reads it."""
    setup = entry.rules.setup
    query = form.whole("query")
    spec = setup.family.spec
    if query is None or not 0 <= query < spec.num_queries:
        raise InvalidOutcomeError(f"There is no question {query}; reload the page.")
    outcome = read_entry(form, setup.family, query)
    return outcome if setup.reading is None else outcome[0]


def _mask(form: Form, size: int) -> list[bool]:
    return [f"allowed-{query}" in form for query in range(size)]
