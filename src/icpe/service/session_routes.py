"""Sessions: create, ask, tell, skip, undo, close, look, export."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from icpe.deploy.answers_csv import answers_csv
from icpe.deploy.events import Kind, Status
from icpe.deploy.repeats import Repeatable
from icpe.deploy.report import session_report
from icpe.deploy.report_html import report_page
from icpe.service import actions, schemas
from icpe.service.access import require
from icpe.service.documented import answers
from icpe.service.model_routes import goal_of, start_of
from icpe.service.sessions import Entry
from icpe.service.views import session_view, summary_view

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


@router.post(
    "/{id}/ask",
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def ask(request: Request, id: Id, given: schemas.Ask | None = None) -> Any:
    """Has so many questions open; those that are open already stay."""
    given = given or schemas.Ask()
    return await _changed(request, id, actions.asking(given.count), given.at)


@router.post(
    "/{id}/tell",
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def tell(request: Request, id: Id, given: schemas.Tell) -> Any:
    """Takes in an answer, which is durable when this returns."""
    told = actions.Told(given.query, given.outcome, given.terminated, given.query_mask)
    content = {"query": given.query, "outcome": given.outcome}
    action = actions.telling(
        lambda entry: told,
        Repeatable(given.token, Kind.TOLD, content),
        unasked=given.unasked,
        then_ask=given.ask,
    )
    return await _changed(request, id, action, given.at)


@router.post(
    "",
    status_code=201,
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def create_session(request: Request, given: schemas.NewSession) -> Any:
    """Starts a session. With a token, the same session again if it was started."""
    entry = await request.app.state.service.sessions.create(
        given.model,
        goal_of(given),
        id=given.id,
        token=given.token,
        **start_of(given),
    )
    return _shown(request, entry, 201)


@router.get(
    "",
    response_model=schemas.SessionList,
    responses=answers(),
    dependencies=[require("read")],
)
async def list_sessions(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[
        str | None, Query(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    ] = None,
    status: Status | None = None,
) -> Any:
    """Sessions, the latest first."""
    sessions = request.app.state.service.sessions
    found = await sessions.list(limit, before, status)
    last = found[-1].id if len(found) == limit else None
    return JSONResponse(
        {"sessions": [summary_view(it) for it in found], "before": last}
    )


@router.get(
    "/{id}",
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("read")],
)
async def show_session(request: Request, id: Id) -> Any:
    """Where a session stands."""
    return _shown(request, await request.app.state.service.sessions.read(id))


@router.get(
    "/{id}/history",
    response_model=schemas.EventList,
    responses=answers(404, 409),
    dependencies=[require("read")],
)
async def show_history(request: Request, id: Id) -> Any:
    """Everything that happened in a session, first to last."""
    entry = await request.app.state.service.sessions.read(id)
    return JSONResponse({"id": id, "events": [it.to_dict() for it in entry.events]})


@router.get(
    "/{id}/export",
    response_model=schemas.EventList,
    responses={
        **answers(404, 409),
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
    },
    dependencies=[require("read")],
)
async def export(
    request: Request, id: Id, format: Literal["json", "csv"] = "json"
) -> Any:
    """All events of a session, as JSON or as a table."""
    entry = await request.app.state.service.sessions.read(id)
    if format == "json":
        values = {"id": id, "events": [it.to_dict() for it in entry.events]}
        return JSONResponse(values, headers=_attached(id, "json"))
    table = answers_csv(entry.rules, entry.events)
    return Response(table, media_type="text/csv", headers=_attached(id, "csv"))


@router.get(
    "/{id}/report",
    response_model=dict[str, Any],
    responses={
        **answers(404, 409),
        200: {"content": {"text/html": {"schema": {"type": "string"}}}},
    },
    dependencies=[require("read")],
)
async def report(
    request: Request, id: Id, format: Literal["json", "html"] = "json"
) -> Any:
    """What was asked, answered and believed, and why it stopped.

    As JSON it can be checked bit for bit by `icpe replay`.
    """
    sessions = request.app.state.service.sessions
    entry = await sessions.read(id)
    found = await sessions.blocking(session_report, id, entry.rules, entry.events)
    if format == "json":
        return JSONResponse(found, headers=_attached(id, "json"))
    policy = {
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"
    }
    return HTMLResponse(report_page(found), headers=policy)


@router.post(
    "/{id}/skip",
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def skip(request: Request, id: Id, given: schemas.Skip | None = None) -> Any:
    """Withdraws an open question for good, the oldest if none is named."""
    given = given or schemas.Skip()
    return await _changed(
        request, id, actions.skipping(given.query, given.token), given.at
    )


@router.post(
    "/{id}/undo",
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def undo(request: Request, id: Id, given: schemas.Undo | None = None) -> Any:
    """Takes back the last answer or skip. The history keeps it."""
    given = given or schemas.Undo()
    return await _changed(request, id, actions.undoing(given.token), given.at)


@router.post(
    "/{id}/close",
    response_model=schemas.SessionView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def close(request: Request, id: Id, given: schemas.Close | None = None) -> Any:
    """Takes nothing more."""
    given = given or schemas.Close()
    return await _changed(request, id, actions.closing(given.token), given.at)


async def _changed(
    request: Request, id: str, action: actions.Action, at: int | None
) -> JSONResponse:
    service = request.app.state.service
    entry = await service.sessions.change(id, *action, at)
    return _shown(request, entry)


def _shown(request: Request, entry: Entry, status: int = 200) -> JSONResponse:
    return JSONResponse(session_view(entry), status)


def _attached(id: str, suffix: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="session-{id}.{suffix}"'}
