"""An explorer as one ONNX file: a step, and in its metadata all else."""

import contextlib
import dataclasses
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule
from icpe.core.errors import IcpeError, UnsupportedError, missing_extra
from icpe.core.family import AbstractTaskFamily
from icpe.core.files import replacing
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.shipping import in_float32
from icpe.export.check import check_same, histories_of
from icpe.export.describe import description
from icpe.export.plain import plain
from icpe.export.precision import in_double, is_small
from icpe.export.step import Step, step_of
from icpe.portable import SEAL, sealed

OPSET = 17
"""The version of ONNX operators; runtimes since 2022 know it."""
_SEAL_KEY = "icpe.seal"


@dataclasses.dataclass(frozen=True)
class Exported:
    """An exported explorer.

    Attributes:
        model: the bytes of the ONNX file, with document and seal.
        document: what it says about itself.
        gives_mask: whether it tells which queries are allowed next.
        notes: what is different from the artifact, in sentences.
    """

    model: bytes
    document: dict[str, Any]
    gives_mask: bool
    notes: tuple[str, ...]


def export_onnx(artifact: Artifact, path: str | Path, name: str = "") -> Exported:
    """Writes an explorer as an ONNX file; see `exported`."""
    done = exported(artifact, name or Path(path).stem)
    with replacing(Path(path)) as temporary:
        temporary.write_bytes(done.model)
    return done


def exported(artifact: Artifact, name: str) -> Exported:
    """An explorer as an ONNX model.

    Args:
        artifact: what to export.
        name: how it is called for people.

    Raises:
        UnsupportedError: it cannot be exported, with the reason.
        MissingExtraError: a package is missing.
    """
    to_onnx = _converter()
    artifact, notes = _in_float32(artifact)
    step = step_of(artifact)
    try:
        with _quiet():
            proto = to_onnx(
                plain(step.function, step.shapes),
                list(step.shapes),
                model_name="icpe",
                opset=OPSET,
                input_names=step.input_names,
                output_names=step.output_names,
            )
    except IcpeError:
        raise
    except Exception as error:  # whatever an operation that is not known makes go wrong
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnsupportedError(
            "This explorer cannot be exported, since a step of it has no counterpart "
            f"in ONNX: {problem.rstrip('.')}."
        ) from error
    document = description(artifact, step, name)
    entries = {"icpe": json.dumps(document), _SEAL_KEY: SEAL + "0" * 64}
    for key, value in entries.items():
        proto.metadata_props.add(key=key, value=value)
    model = _checked(proto, step, artifact.family)
    return Exported(model, document, step.gives_mask, notes)


def _checked(proto: Any, step: Step, family: AbstractTaskFamily) -> bytes:
    """The model, sealed; in double precision where it is small and runtimes can."""
    histories = histories_of(family)
    if is_small(proto):
        model = sealed(in_double(proto).SerializeToString(deterministic=True))
        try:
            check_same(step, model, histories)
            return model
        except UnsupportedError:
            pass
    model = sealed(proto.SerializeToString(deterministic=True))
    check_same(step, model, histories)
    return model


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the converter and its libraries have to say to their authors."""
    logger = logging.getLogger("onnx_ir")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _converter() -> Any:
    try:
        import onnxruntime  # noqa: F401
        from jax2onnx import to_onnx
    except ImportError as error:
        raise missing_extra(
            "Exporting needs jax2onnx and onnxruntime", "export"
        ) from error
    return to_onnx


def _in_float32(artifact: Artifact) -> tuple[Artifact, tuple[str, ...]]:
    """The explorer in the only arithmetic that all runtimes have.

    What was certified of another arithmetic does not hold for this one.
    """
    nets = artifact.nets
    if isinstance(nets, SavedRule) or not nets.config.transformer.bfloat16:
        return artifact, ()
    if not isinstance(nets, ExplorerNets):
        raise UnsupportedError(
            "This explorer multiplies in bfloat16, which runtimes of ONNX do not; "
            "train it with transformer.bfloat16 False."
        )
    artifact = dataclasses.replace(artifact, nets=in_float32(nets), certificates=())
    note = (
        "The networks multiply in bfloat16, the exported ones in float32, so the "
        "certificates were left out; ship the explorer in float32 and certify that."
    )
    return artifact, (note,)
