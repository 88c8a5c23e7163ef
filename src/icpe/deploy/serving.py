"""Who asks the queries of a session, and how the request is served."""

from typing import Any

from icpe.artifact.artifact import Artifact, Service
from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, TaskSpec
from icpe.core.request import OperatingPoint


def check_explorer(explorer: Any) -> None:
    """Raises one sentence unless it is an artifact or an explorer."""
    if not isinstance(explorer, Artifact | AbstractExplorer):
        raise InvalidParameterError(
            f"explorer must be an artifact or an explorer; got {explorer!r}: load a "
            "file by Artifact.load(FILE), one of the zoo by zoo.load(NAME)."
        )


def family_of(
    explorer: Artifact | AbstractExplorer, family: AbstractTaskFamily | None
) -> AbstractTaskFamily:
    """The family that is served.

    Raises:
        InvalidParameterError: there is neither a family nor an artifact that knows it.
        UnsupportedError: the artifact was trained for another family.
    """
    if isinstance(explorer, Artifact):
        if family not in (None, explorer.family):
            raise UnsupportedError(
                "family is not the one that the artifact was trained for; leave it out."
            )
        return explorer.family
    if family is None:
        raise InvalidParameterError(
            "family is missing; only an artifact knows the family it serves."
        )
    return family


def serve(
    explorer: Artifact | AbstractExplorer,
    spec: TaskSpec,
    *,
    confidence: float,
    **request: Any,
) -> tuple[AbstractExplorer, Service]:
    """The explorer that plays, and the price or budget by which it serves a request.

    Raises:
        OperatingPointError: the request is malformed, or cannot be served.
    """
    if isinstance(explorer, Artifact):
        return explorer.explorer, explorer.serve(**request, confidence=confidence)
    return explorer, Service(OperatingPoint.at(spec.horizon, **request))
