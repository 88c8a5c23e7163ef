"""The app: everything a worker holds, and the routes in front of it."""

import contextlib
import dataclasses
import importlib.metadata
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from icpe.core.errors import IcpeError
from icpe.deploy.storage import AbstractStorage, open_storage
from icpe.service import admin_routes, model_routes, session_routes, status_routes
from icpe.service.access import Access
from icpe.service.batcher import Batcher
from icpe.service.guardrails import Guardrails, log
from icpe.service.malformed import body_model, sentence
from icpe.service.metrics import Metrics
from icpe.service.models import Models
from icpe.service.page import routes as page_routes
from icpe.service.page import session_routes as session_pages
from icpe.service.page.timeline import Timelines
from icpe.service.refusals import status_of
from icpe.service.sessions import Sessions
from icpe.service.settings import Settings
from icpe.service.warming import Warming
from icpe.service.writer import Writer


@dataclasses.dataclass(frozen=True)
class Service:
    """What the routes of a worker share, as `request.app.state.service`."""

    settings: Settings
    storage: AbstractStorage
    models: Models
    sessions: Sessions
    access: Access
    metrics: Metrics
    warming: Warming | None


def create_app(
    settings: Settings,
    storage: AbstractStorage | None = None,
    warming: Warming | None = None,
) -> FastAPI:
    """The app of one worker.

    Args:
        settings: how it runs.
        storage: where sessions are; opened by the settings if None.
        warming: models that are being compiled, if somebody does that.
    """
    metrics = Metrics()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        place = open_storage(settings.storage) if storage is None else storage
        batcher = Batcher(settings.gather_seconds, metrics.model_calls.observe)
        writer = Writer(place, metrics.commits.observe)
        models = Models(settings.models_folder)
        sessions = Sessions(place, models, batcher, writer, settings.cache_bytes)
        access = Access(place, settings.open, settings.rate)
        app.state.service = Service(
            settings, place, models, sessions, access, metrics, warming
        )
        app.state.timelines = Timelines(sessions)
        yield
        batcher.close()
        writer.close()
        sessions.close()
        if storage is None:
            place.close()

    app = FastAPI(
        title="icpe",
        version=importlib.metadata.version("icpe"),
        description="Sessions of explorers that ask, stop and answer.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    # Routes are tried one after the other, so those used most come first.
    for routes in (session_routes, model_routes, status_routes, admin_routes):
        app.include_router(routes.router)
    for pages in (page_routes, session_pages):
        app.include_router(pages.router)
    app.add_exception_handler(IcpeError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _stopped)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(Guardrails, settings=settings, metrics=metrics)
    return app


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, IcpeError)
    status = status_of(error)
    headers = {"Retry-After": "1"} if status == 503 else None
    if status == 503:
        log(problem=str(error))
    return _problem(status, " ".join(str(error).split()), headers)


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    body = body_model(request.scope.get("route"))
    return _problem(422, sentence(error.errors(), body))


async def _stopped(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, str(error.detail), error.headers)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    return _problem(500, "Something went wrong here; the log of the service says what.")


def _problem(status: int, sentence: str, headers=None) -> JSONResponse:
    return JSONResponse({"detail": sentence}, status, headers)
