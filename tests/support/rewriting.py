"""Files of explorers written again with changes, as somebody else could have."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import save_file

from icpe.artifact.sealed import seal_of


def rewrite(
    path: Path,
    change_document: Callable[[dict[str, Any]], Any] | None = None,
    change_arrays: Callable[[dict[str, Any]], Any] | None = None,
    *,
    sealed: bool = True,
) -> None:
    """Writes a file again with changes, sealed again by the forger unless told not."""
    with safe_open(str(path), framework="np") as file:
        names = list(file.keys())
        arrays = {name: file.get_tensor(name) for name in names}
        document = json.loads(file.metadata()["icpe"])
    document.pop("seal", None)
    if change_document is not None:
        change_document(document)
    if change_arrays is not None:
        change_arrays(arrays)
    if sealed:
        document["seal"] = seal_of(document, arrays)
    save_file(arrays, str(path), metadata={"icpe": json.dumps(document)})


def as_before_seals(path: Path) -> None:
    """Makes the file one of the format that had no seal."""
    rewrite(path, lambda document: document.update(format_version=1), sealed=False)
