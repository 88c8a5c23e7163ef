"""Checkpoints: the whole state of training in one compact file."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from icpe.artifact.sealed import Stored, read_stored
from icpe.artifact.trees import restore_tree, save_tree
from icpe.core.errors import CheckpointError
from icpe.core.family import AbstractTaskFamily, parameters
from icpe.core.fingerprint import fingerprint
from icpe.core.typed_values import check_value, shown
from icpe.families.registry import family_name
from icpe.learn.learners import AnyConfig, AnyState

_KIND, _UNSEALED = "icpe checkpoint 2", "icpe checkpoint 1"


def save_checkpoint(
    path: Path,
    state: AnyState,
    family: AbstractTaskFamily,
    config: AnyConfig,
    *,
    seconds: float,
    light: bool = False,
    seeds: tuple[int, ...] = (),
) -> None:
    """Writes the state; a light checkpoint leaves the replay out.

    `seeds` are those of trainings side by side.
    """
    document = {
        **identity(family, config, seeds),
        "iteration": int(state.iteration),
        "seconds": seconds,
        "light": light,
    }
    save_tree(path, _without_replay(state) if light else state, document)


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A state read back, and the seconds of training that went into it."""

    state: AnyState
    seconds: float


def load_checkpoint(
    path: Path,
    like: AnyState,
    family: AbstractTaskFamily,
    config: AnyConfig,
    *,
    seeds: tuple[int, ...] = (),
) -> Checkpoint:
    """Reads a state for the same family and configuration.

    Args:
        path: the file.
        like: a fresh state, which gives the shapes and, for a light checkpoint, the
            empty replay.
        family: the family that is trained for.
        config: the configuration of the training.
        seeds: those of trainings side by side.

    Raises:
        CheckpointError: the file is damaged or belongs to another training.
    """
    try:
        stored = read_stored(path)
        document = _checked(stored)
        for field, expected in identity(family, config, seeds).items():
            if document[field] != expected:
                raise CheckpointError(
                    f"{path} belongs to another training: "
                    f"{difference(field, document[field], expected)}; "
                    "use the same settings, or another --out."
                )
        if document["light"]:
            kept = restore_tree(stored, _without_replay(like))
            state = dataclasses.replace(kept, replay=like.replay)
        else:
            state = restore_tree(stored, like)
        return Checkpoint(state, document["seconds"])
    except OSError as error:
        reason = error.strerror or str(error)
        raise CheckpointError(f"{path} cannot be read: {reason}.") from error
    except CheckpointError:
        raise
    except Exception as error:  # whatever a malformed value makes go wrong
        problem = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, KeyError):
            problem = f"{error} is missing"
        raise CheckpointError(
            f"{path} is not a checkpoint that can be resumed: {problem.rstrip('.')}."
        ) from error


def identity(
    family: AbstractTaskFamily, config: AnyConfig, seeds: tuple[int, ...]
) -> dict[str, Any]:
    """What tells one training from another."""
    values: dict[str, Any] = {
        "kind": _KIND,
        "family": {"name": family_name(family), **parameters(family)},
        "fingerprint": fingerprint(family),
        "config": dataclasses.asdict(config),
    }
    if seeds:
        values["seeds"] = seeds
    return json.loads(json.dumps(values))  # as they are read back


def _checked(stored: Stored) -> dict[str, Any]:
    """The document, in the present format; the first checkpoints have no seal."""
    document = stored.document
    if document["kind"] == _UNSEALED:
        document = {**document, "kind": _KIND}
    elif document["kind"] == _KIND and not stored.sealed:
        raise ValueError("it has no seal, so it has changed since it was written")
    for field, hint in (("seconds", float), ("light", bool), ("iteration", int)):
        if field in document:
            check_value(document[field], hint, field)
    return document


def difference(field: str, found: Any, expected: Any) -> str:
    """The first field by which two records differ, in words."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in expected:
            if found.get(name) != expected[name]:
                return difference(name, found.get(name), expected[name])
    if isinstance(found, dict | list):
        found = shown(found)
    return f"{field} is {found} there and {expected} here"


def _without_replay(state: AnyState) -> AnyState:
    return eqx.tree_at(
        lambda state: (state.replay.episodes, state.replay.added),
        state,
        (None, jnp.zeros((), jnp.int32)),
    )
