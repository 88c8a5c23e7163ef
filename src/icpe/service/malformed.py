"""What is wrong with the body of a request, in words."""

import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel


def sentence(problem: dict[str, Any], body: type[BaseModel] | None) -> str:
    """One problem of a request, without what was sent.

    Args:
        problem: as pydantic reports it.
        body: the model of the whole body, if there is one.
    """
    place: Sequence[str | int] = problem.get("loc", ())
    named = ".".join(str(it) for it in place[1:]) or str(place[0] if place else "body")
    said = str(problem.get("msg", "malformed"))[:200]
    if problem.get("type") == "extra_forbidden" and body is not None:
        known = _model_at(body, place[1:-1])
        if known is not None:
            said = f"there is no such field, only {', '.join(known.model_fields)}"
    return f"{named[:100]}: {said}"


def body_model(route: Any) -> type[BaseModel] | None:
    """The model of the body that a route takes."""
    field = getattr(route, "body_field", None)
    return None if field is None else _model_in(field.field_info.annotation)


def _model_at(
    model: type[BaseModel] | None, place: Sequence[str | int]
) -> type[BaseModel] | None:
    """The model of the part of a body at a place; numbers are places in a list."""
    for name in place:
        if model is None or isinstance(name, int):
            continue
        field = model.model_fields.get(name)
        model = None if field is None else _model_in(field.annotation)
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model in a type such as `Model | None` or `list[Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = map(_model_in, typing.get_args(annotation))
    return next((it for it in found if it is not None), None)
