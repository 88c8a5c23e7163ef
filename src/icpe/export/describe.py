"""What an exported explorer says about itself, as JSON-compatible values.

It is all that `icpe.portable` and the page need beside the step: names, rules of
episodes, requests that are served and their certificates, the guard.
"""

import base64
import dataclasses
import importlib.metadata
from typing import Any

import jax
import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.artifact.guard import Guard
from icpe.artifact.saved_rule import SavedRule
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily, parameters
from icpe.core.request import Promise
from icpe.core.simulate import reveals_something
from icpe.explorers.neural.paper import PaperNets
from icpe.export.step import Step
from icpe.families.registry import describe, family_name
from icpe.families.table.columns import TableAnswers
from icpe.portable import FORMAT, Spec
from icpe.portable import Certificate as ShownCertificate


def description(artifact: Artifact, step: Step, name: str) -> dict[str, Any]:
    """The document of an exported explorer.

    Args:
        artifact: what is exported.
        step: its step.
        name: how the explorer is called for people.
    """
    family, nets = artifact.family, artifact.nets
    spec = family.spec
    return {
        "format": FORMAT,
        "name": name,
        "family": family_name(family),
        "class": type(family).__name__,
        "described": describe(family),
        "summary": _summary(family),
        "spec": {
            field.name: getattr(spec, field.name) for field in dataclasses.fields(Spec)
        },
        "reveals": reveals_something(family),
        "reset_entries": list(spec.reset_entries),
        "units": _optional(family.any_units()),
        "cells": _cells(artifact),
        "noise": _noise_of_pixels(artifact),
        "weights": artifact.weights_hash,
        "is_rule": isinstance(nets, SavedRule),
        "objective": _objective(nets),
        "price_range": _price_range(nets),
        "operating_table": _table(artifact),
        "beliefs": _beliefs(artifact),
        "certificates": [_shown(it) for it in _standing(artifact)],
        "guard": None if artifact.guard is None else _guard(artifact.guard),
        "state": [packed(array) for array in step.start],
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("icpe", "jax", "jax2onnx", "onnx")
        },
    }


def _summary(family: AbstractTaskFamily) -> str:
    """The first line of what the class says of itself, if anything."""
    line = (type(family).__doc__ or "").strip().partition("\n")[0]
    # A dataclass without words of its own shows its fields.
    return "" if line.startswith(f"{type(family).__name__}(") else line


def _noise_of_pixels(artifact: Artifact) -> float:
    """The noise that a drawing needs to look like pictures of the family."""
    is_picture = bool(artifact.family.spec.outcome_shape)
    noise = parameters(artifact.family).get("noise", 0.0) if is_picture else 0.0
    return float(noise)


def packed(array: np.ndarray) -> dict[str, Any]:
    """An array as JSON-compatible values."""
    array = np.asarray(array)
    about = {"shape": list(array.shape), "dtype": array.dtype.name}
    flat = array.ravel()
    if flat.size and np.all(flat == flat[0]):
        return about | {"fill": flat[0].item()}
    content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return about | {"data": base64.b64encode(content.tobytes()).decode()}


def _objective(nets: Any) -> dict[str, Any] | None:
    is_paper = isinstance(nets, PaperNets)
    return dataclasses.asdict(nets.objective) if is_paper else None


def _price_range(nets: Any) -> list[float] | None:
    is_paper = isinstance(nets, PaperNets)
    return None if is_paper else [nets.prices.low, nets.prices.high]


def _cells(artifact: Artifact) -> dict[str, Any] | None:
    """How answers are read, where they are about the features of a table.

    Raises:
        UnsupportedError: they are read in a way of the family's own.
    """
    answers = artifact.family.answers()
    if answers is None or isinstance(answers, TableAnswers):
        return None if answers is None else _optional(answers.cells)
    raise UnsupportedError(
        "This explorer cannot be exported, since its family reads answers in its own "
        f"way ({type(answers).__name__}), which only Python knows."
    )


def _optional(value: Any) -> dict[str, Any] | None:
    return None if value is None else dataclasses.asdict(value)


def _table(artifact: Artifact) -> list[dict[str, Any]] | None:
    """What was measured at prices, in the order of the prices."""
    if artifact.table is None:
        return None
    names = (
        "price",
        "max_queries",
        "accuracy",
        "lower_bound",
        "mean_cost",
        "quantiles",
    )
    rows = [row for row in artifact.table.rows if row.price is not None]
    rows.sort(key=lambda row: row.price or 0.0)
    return [{name: getattr(row, name) for name in names} for row in rows]


def _beliefs(artifact: Artifact) -> dict[str, Any] | None:
    """Doubts at which it may stop, with what was measured of them."""
    table = artifact.belief_table
    if table is None:
        return None
    rows = [
        {"doubt": it.price, "lower_bound": it.lower_bound, "mean_cost": it.mean_cost}
        for it in table.decided()
    ]
    return {"price": table.price, "rows": rows}


def _standing(artifact: Artifact) -> list[Certificate]:
    """The certificates that hold for this explorer, those that are preferred last.

    Which one serves a request is decided as `artifact.certificate.preferred` does.
    """
    records = [Certificate.from_dict(record) for record in artifact.certificates]
    weights, table = artifact.weights_hash, artifact.table_hash
    beliefs = artifact.table_hash_for(Promise.BELIEF)
    standing = [
        it
        for it in records
        if it.certified
        and it.error_prob is not None
        and it.is_intact
        and it.weights == weights
        and (it.document is None or it.document == artifact.subject_hash)
        and (it.promise != Promise.BELIEF or it.table == beliefs)
    ]
    return sorted(
        reversed(standing),
        key=lambda it: (
            it.table == table,
            -it.attempt,
            sum(test.episodes or 0 for test in it.ladder),
        ),
    )


def _shown(certificate: Certificate) -> dict[str, Any]:
    fields = dataclasses.fields(ShownCertificate)
    return {field.name: getattr(certificate, field.name) for field in fields}


def _guard(guard: Guard) -> dict[str, Any]:
    arrays = jax.tree.map(np.asarray, guard.law.arrays())
    return {
        "limits": dataclasses.asdict(guard.limits.with_slack),
        "arrays": {name: packed(array) for name, array in arrays.items()},
    }
