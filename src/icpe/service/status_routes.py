"""Whether the service is well, and what it has done."""

import os

from fastapi import APIRouter, HTTPException, Request, Response

from icpe.core.errors import StorageError
from icpe.service.access import require
from icpe.service.documented import answers
from icpe.service.schemas import Health

router = APIRouter(tags=["status"])


@router.get("/healthz", responses=answers())
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz", responses=answers())
async def readyz(request: Request) -> Health:
    """Storage and models can be used, and models are compiled."""
    service = request.app.state.service
    await service.sessions.blocking(service.storage.check)
    if not os.access(service.settings.models_folder, os.R_OK):
        raise StorageError("The folder of models cannot be read.")
    if service.warming is not None and not service.warming.ended:
        done, total = service.warming.progress
        raise HTTPException(
            503,
            f"{done} of {total} models have been compiled; sessions can begin, and "
            "will be quick when all have.",
            {"Retry-After": "1"},
        )
    return Health(status="ok")


@router.get(
    "/metrics",
    responses={**answers(), 200: {"content": {"text/plain": {}}}},
    response_class=Response,
    dependencies=[require("read")],
)
async def metrics(request: Request) -> Response:
    """Counters of all workers, for Prometheus."""
    text, kind = request.app.state.service.metrics.page()
    return Response(text, media_type=kind)
