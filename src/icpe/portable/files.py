"""Files of exported explorers: their seal, their arrays, and what runs them."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from icpe.portable.errors import MissingExtraError

SEAL = "icpe-seal-"
"""In front of the hash of a model, taken with zeros in the place of the hash."""
FOREIGN = "it is damaged or was not written by icpe"
CHANGED = (
    "it has changed since it was written, since its seal is another; get the file "
    "again from where it came from"
)


def find_runtime() -> Any:
    """onnxruntime.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(
            "Exported explorers need onnxruntime; pip install onnxruntime."
        ) from error
    return onnxruntime


def open_model(runtime: Any, content: bytes) -> Any:
    """A model that runs on one thread."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(
        content, options, providers=["CPUExecutionProvider"]
    )


def sealed(content: bytes) -> bytes:
    """A model whose seal is zeros, with the seal that belongs to it."""
    at = content.rindex(SEAL.encode()) + len(SEAL)
    found = hashlib.sha256(content).hexdigest().encode()
    return content[:at] + found + content[at + len(found) :]


def check_seal(content: bytes) -> None:
    """Raises `ValueError` unless the model is as it was written."""
    at = content.rfind(SEAL.encode()) + len(SEAL)
    if at < len(SEAL):
        raise ValueError(FOREIGN)
    blank = content[:at] + b"0" * 64 + content[at + 64 :]
    if sealed(blank) != content:
        raise ValueError(CHANGED)


def unusable(path: Path, error: Exception) -> str:
    """What is wrong with a file, in one sentence."""
    problem = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        problem = f"{error} is missing"
    return f"{path} is not an artifact that can be used: {problem.rstrip('.')}."


def unpacked(packed: dict[str, Any]) -> np.ndarray:
    """An array as `icpe.export` packs it."""
    if "fill" in packed:
        return np.full(packed["shape"], packed["fill"], packed["dtype"])
    content = base64.b64decode(packed["data"])
    array = np.frombuffer(content, np.dtype(packed["dtype"]).newbyteorder("<"))
    return array.reshape(packed["shape"]).astype(packed["dtype"])


def tuples(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value
