"""Processes that train together must all train the same thing."""

import dataclasses
from typing import Any

import equinox as eqx

from icpe.artifact import provenance
from icpe.artifact.trees import hash_arrays
from icpe.core import distributed
from icpe.core.errors import InvalidParameterError
from icpe.learn.checkpoint import difference, identity
from icpe.learn.learner import UniversalLearner
from icpe.learn.learners import AnyLearner
from icpe.learn.side_by_side import SideBySide


def check_agreement(learner: AnyLearner, *, resume: bool) -> None:
    """Raises one sentence unless all processes have the same training in mind.

    Raises:
        InvalidParameterError: one has another family, configuration or survey.
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
                    "process id, on machines of one kind."
                )


def seeds_of(learner: AnyLearner) -> tuple[int, ...]:
    """Those that are trained side by side."""
    return learner.seeds if isinstance(learner, SideBySide) else ()


def _in_mind(learner: AnyLearner, resume: bool) -> dict[str, Any]:
    alone = learner.learner if isinstance(learner, SideBySide) else learner
    record = identity(learner.family, learner.config, seeds_of(learner))
    versions = provenance()
    record |= {"resume": resume, "icpe": versions["icpe"], "jax": versions["jax"]}
    if isinstance(alone, UniversalLearner):
        found = alone.survey
        record["survey"] = hash_arrays(eqx.filter(found, eqx.is_array))
        record["pilot"] = repr(found.pilot and dataclasses.astuple(found.pilot))
    return record
