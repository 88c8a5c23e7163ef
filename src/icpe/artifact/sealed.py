"""Files of arrays, each with a JSON document and a seal, read without jax.

They are safetensors files. The seal is a hash of the whole document and of every
array. It needs no secret: it shows damage and careless edits, not a careful forgery.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401, which makes bfloat16 known to numpy
import numpy as np
from safetensors import SafetensorError, safe_open

from icpe.core.files import check_plain
from icpe.portable.files import CHANGED, FOREIGN

DOCUMENT = "icpe"
SEAL = "seal"
_SEAL_LENGTH = 64
LONGEST_DOCUMENT = 2**24
"""Characters; reading more could take all memory."""
DATA_PREFIXES = ("family.", "guard.")
"""How the names of arrays begin that belong to no tree."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """What a file made by `icpe.artifact.trees.save_tree` holds.

    Attributes:
        document: the JSON document, without the seal.
        arrays: all arrays by name, as they are stored.
        sealed: whether there was a seal, which then is that of the content; the first
            files have none.
    """

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]
    sealed: bool

    def data(self, prefix: str) -> dict[str, np.ndarray]:
        """The arrays given to `save_tree` as `data`, by what follows the prefix."""
        return {
            name.removeprefix(prefix): array
            for name, array in self.arrays.items()
            if name.startswith(prefix)
        }


def read_stored(path: Path) -> Stored:
    """Everything in a file made by `save_tree`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a file, or has changed since it was written.
    """
    check_plain(path)
    with path.open("rb"):
        pass  # a missing or unreadable file speaks for itself
    try:
        with safe_open(str(path), framework="np") as file:
            text = (file.metadata() or {})[DOCUMENT]
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError) as error:
        raise ValueError(_made_of(path) or FOREIGN) from error
    document = _parse(text)
    seal = document.pop(SEAL, None)
    if seal is None and _has_seal_under_another_name(document, arrays):
        raise ValueError(CHANGED)
    if seal is not None and seal != seal_of(document, arrays):
        raise ValueError(CHANGED)
    return Stored(document, arrays, sealed=seal is not None)


def _has_seal_under_another_name(document: dict[str, Any], arrays: dict) -> bool:
    """Whether the name of the seal is what has changed; the first files have none."""
    for name, value in document.items():
        if isinstance(value, str) and len(value) == _SEAL_LENGTH:
            rest = {key: it for key, it in document.items() if key != name}
            if value == seal_of(rest, arrays):
                return True
    return False


_MAKERS = {
    ".csv": "it is a table; make one with icpe train-table FILE --target COLUMN, or of "
    "probabilities or items with icpe rule",
    ".bif": "it is a Bayesian network; make one with icpe rule --network FILE",
}


def _made_of(path: Path) -> str | None:
    """What to do with a file from which an explorer can be made, None if it is none."""
    return _MAKERS.get(path.suffix.lower())


def _parse(text: str) -> dict[str, Any]:
    if len(text) > LONGEST_DOCUMENT:
        raise ValueError(f"its document is too long: {len(text)} characters")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(FOREIGN) from error
    if not isinstance(document, dict):
        raise ValueError(FOREIGN)
    return document


def read_document(path: Path) -> dict[str, Any]:
    """The JSON document in a file made by `save_tree`; see `read_stored`."""
    return read_stored(path).document


def seal_of(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of all values of a document, and of all arrays as they are stored."""
    values = json.loads(json.dumps(document))  # as they are read back
    values.pop(SEAL, None)
    total = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    update_with_arrays(total, arrays)
    return total.hexdigest()


def update_with_arrays(total: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Adds names, types, shapes and bits of arrays to a hash."""
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype} {array.shape} ".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
