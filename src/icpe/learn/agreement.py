"""Processes that train together must all train the same thing."""

from typing import Any

from icpe.artifact import provenance
from icpe.core import distributed
from icpe.core.errors import InvalidParameterError
from icpe.learn.checkpoint import difference, identity
from icpe.learn.learners import AnyLearner
from icpe.learn.side_by_side import SideBySide


def check_agreement(learner: AnyLearner, *, resume: bool) -> None:
    """Raises one sentence unless all processes have the same training in mind.

    Raises:
        InvalidParameterError: one has another family or configuration.
    """
    if distributed.count() == 1:
        return
    first, *others = distributed.exchange(_in_mind(learner, resume))
    for process, found in enumerate(others, start=1):
        for field, expected in first.items():
            if found[field] != expected:
                told = difference(field, expected, found[field])
                told = told.replace(" there and ", " in process 0 and ")
                told = told.removesuffix(" here")
                raise InvalidParameterError(
                    f"Process {process} is not to train what process 0 trains: {told} "
                    f"in process {process}; give all the same command but for the "
                    "process id."
                )


def seeds_of(learner: AnyLearner) -> tuple[int, ...]:
    """Those that are trained side by side."""
    return learner.seeds if isinstance(learner, SideBySide) else ()


def _in_mind(learner: AnyLearner, resume: bool) -> dict[str, Any]:
    record = identity(learner.family, learner.config, seeds_of(learner))
    versions = provenance()
    record |= {"resume": resume, **versions}
    return record
