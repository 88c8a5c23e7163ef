"""Models with their cards, and the next query without a session."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from icpe.core.errors import InvalidParameterError
from icpe.core.request import Request as Goal
from icpe.core.units import Units
from icpe.service import schemas
from icpe.service.access import require
from icpe.service.documented import answers
from icpe.service.views import model_summary, model_view, state_view

router = APIRouter(prefix="/v1", tags=["models"])


@router.get(
    "/models",
    response_model=schemas.ModelList,
    responses=answers(),
    dependencies=[require("read")],
)
async def list_models(request: Request) -> Any:
    """All models that can be used."""
    service = request.app.state.service

    def read() -> list[dict[str, Any]]:
        cards, _ = service.models.cards()  # a file that cannot be used is not offered
        return [model_summary(name, card) for name, card in cards.items()]

    return JSONResponse({"models": finite(await service.sessions.blocking(read))})


@router.get(
    "/models/{name}",
    response_model=schemas.ModelView,
    responses=answers(404),
    dependencies=[require("read")],
)
async def show_model(request: Request, name: str) -> Any:
    """A model with its card, its certificates, and the words of its family."""
    service = request.app.state.service

    def read() -> dict[str, Any]:
        return model_view(service.models.get(name), service.models.card(name))

    return JSONResponse(finite(await service.sessions.blocking(read)))


@router.post(
    "/next",
    response_model=schemas.NextView,
    responses=answers(404, 409),
    dependencies=[require("run")],
)
async def next_query(request: Request, given: schemas.GivenHistory) -> Any:
    """The next query after a whole history, with belief, stop and reason.

    Nothing is kept. The answer is that of a session which was told the same.
    """
    service = request.app.state.service
    most = service.settings.max_history
    if len(given.history) > most:
        raise InvalidParameterError(
            f"history must have at most {most} answers; got {len(given.history)}."
        )
    sessions = service.sessions
    model = await sessions.blocking(service.models.get, given.model)
    setup = await sessions.blocking(
        lambda: model.setup(goal_of(given), **start_of(given))
    )
    history = [answer.model_dump() for answer in given.history]
    rules, state = await sessions.follow(model, setup, history)
    view = {"model": model.name, "artifact": model.hash, **state_view(rules, state)}
    return JSONResponse(view)


def goal_of(given: schemas.Goal) -> Goal:
    """The request that was asked for."""
    return Goal(**{name: getattr(given, name) for name in schemas.Goal.model_fields})


def start_of(given: schemas.Start) -> dict[str, Any]:
    """What a setup is made of beside model and request."""
    own = schemas.Start.model_fields.keys() - schemas.Goal.model_fields - {"model"}
    units = None if given.units is None else Units(**given.units.model_dump())
    return {name: getattr(given, name) for name in own} | {"units": units}


def finite(value: Any) -> Any:
    """The values with null in the place of numbers that JSON does not have."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {name: finite(it) for name, it in value.items()}
    return [finite(it) for it in value] if isinstance(value, list | tuple) else value
