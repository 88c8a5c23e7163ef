"""What is wrong with the body of a request, in words."""

import itertools
import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

_MOST_TOLD = 3


def sentence(problems: Sequence[dict[str, Any]], body: type[BaseModel] | None) -> str:
    """The first problems of a request, without what was sent.

    Args:
        problems: as pydantic reports them: one for each type that a value may have.
        body: the model of the whole body, if there is one.
    """
    told: dict[str, list[str]] = {}
    for problem in problems:
        place: Sequence[str | int] = problem.get("loc", ())
        said = str(problem.get("msg", "malformed"))[:200]
        if problem.get("type") == "json_invalid":
            why = problem.get("ctx", {}).get("error", "it cannot be read")
            return f"The body is not JSON: {why} at character {place[-1]}."
        inside = _without_types(body, place[1:])
        if problem.get("type") == "extra_forbidden" and body is not None:
            inside, known = place[1:], _model_at(body, place[1:-1])
            if known is not None:
                said = f"there is no such field, only {', '.join(known.model_fields)}"
        named = ".".join(map(str, inside)) or str(place[0] if place else "body")
        told.setdefault(named[:100], []).append(said)
    parts = (f"{name}: {', or '.join(said)}" for name, said in told.items())
    return "; ".join(itertools.islice(parts, _MOST_TOLD)) + "."


def _without_types(
    body: type[BaseModel] | None, place: Sequence[str | int]
) -> Sequence[str | int]:
    """A place up to where pydantic names the type that it tried."""
    model = body
    for i, name in enumerate(place):
        if isinstance(name, int):
            continue
        field = None if model is None else model.model_fields.get(name)
        if body is not None and field is None:
            return place[:i]
        model = None if field is None else _model_in(field.annotation)
    return place


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
