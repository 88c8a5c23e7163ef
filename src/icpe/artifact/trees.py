"""Trees of arrays in safetensors files, each with a JSON document and a seal.

The seal is a hash of the whole document and of every array. It needs no secret: it
shows damage and careless edits, not a careful forgery.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from icpe.core.arrays import PyTree
from icpe.core.files import check_plain, replacing

_DOCUMENT = "icpe"
_SEAL = "seal"
_DATA_PREFIXES = ("family.", "guard.")
_LONGEST_DOCUMENT = 2**24
"""Characters; reading more could take all memory."""
_FOREIGN = "it is damaged or was not written by icpe"


def save_tree(
    path: Path,
    tree: PyTree,
    document: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
) -> None:
    """Writes the arrays of a tree and a JSON document into one safetensors file.

    Arrays whose values bfloat16 can hold (see `rounded`) take half the space. `data`
    are further arrays by name, which begins with `family.` or `guard.`.

    Raises:
        OSError: the file cannot be written.
        ValueError: the document is too long to be read again.
    """
    arrays = {name: _compact(array) for name, array in named_arrays(tree).items()}
    arrays |= {name: np.asarray(array) for name, array in (data or {}).items()}
    text = json.dumps({**document, _SEAL: seal_of(document, arrays)})
    if len(text) > _LONGEST_DOCUMENT:
        raise ValueError(f"the document of {path} is too long: {len(text)} characters")
    with replacing(path) as temporary:
        temporary.write_bytes(save(arrays, metadata={_DOCUMENT: text}))


def seal_of(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of all values of a document, and of all arrays as they are stored."""
    values = json.loads(json.dumps(document))  # as they are read back
    values.pop(_SEAL, None)
    total = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    update_with_arrays(total, arrays)
    return total.hexdigest()


def update_with_arrays(total: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Adds names, types, shapes and bits of arrays to a hash."""
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype} {array.shape} ".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _compact(array: np.ndarray) -> np.ndarray:
    """The same values in half the space, where that is possible."""
    if array.dtype != np.float32 or not array.size:
        return array
    half = array.astype(jnp.bfloat16)
    same = np.array_equal(half.astype(np.float32), array, equal_nan=True)
    return half if same else array


@dataclasses.dataclass(frozen=True)
class Stored:
    """What a file made by `save_tree` holds.

    Attributes:
        document: the JSON document, without the seal.
        arrays: all arrays by name, as they are stored.
        sealed: whether there was a seal, which then is that of the content; the first
            files have none.
    """

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]
    sealed: bool

    def tree(self, like: PyTree) -> PyTree:
        """The arrays in the shape of the tree `like`.

        The leaves of `like` may be arrays or `jax.ShapeDtypeStruct`s; values are cast
        to their dtypes.

        Raises:
            ValueError: an array is missing, superfluous or of another shape; the
                message names it.
        """
        arrays = {
            name: array
            for name, array in self.arrays.items()
            if not name.startswith(_DATA_PREFIXES)
        }

        def restore(key_path, leaf):
            if not _is_array(leaf):
                return leaf
            name = _name(key_path)
            if name not in arrays:
                raise ValueError(f"array {name} is missing")
            found = arrays.pop(name)
            stored = jax.eval_shape(jr.key_data, leaf) if _is_key(leaf) else leaf
            if found.shape != stored.shape:
                raise ValueError(
                    f"array {name} has shape {found.shape}, expected {stored.shape}"
                )
            if _is_key(leaf):
                return jr.wrap_key_data(jnp.asarray(found))
            return jnp.asarray(found).astype(leaf.dtype)

        tree = jax.tree_util.tree_map_with_path(restore, like)
        if arrays:
            raise ValueError(f"array {min(arrays)} does not belong here")
        return tree

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
            text = (file.metadata() or {})[_DOCUMENT]
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError) as error:
        raise ValueError(_FOREIGN) from error
    document = _parse(text)
    seal = document.pop(_SEAL, None)
    if seal is not None and seal != seal_of(document, arrays):
        raise ValueError(
            "it has changed since it was written, since its seal is another; get the "
            "file again from where it came from"
        )
    return Stored(document, arrays, sealed=seal is not None)


def _parse(text: str) -> dict[str, Any]:
    if len(text) > _LONGEST_DOCUMENT:
        raise ValueError(f"its document is too long: {len(text)} characters")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(_FOREIGN) from error
    if not isinstance(document, dict):
        raise ValueError(_FOREIGN)
    return document


def read_document(path: Path) -> dict[str, Any]:
    """The JSON document in a file made by `save_tree`; see `read_stored`."""
    return read_stored(path).document


def read_tree(path: Path, like: PyTree) -> PyTree:
    """The arrays of a file made by `save_tree`; see `Stored.tree`."""
    return read_stored(path).tree(like)


def named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """The arrays of a tree by their path; random keys as their integers."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        _name(path): np.asarray(jr.key_data(leaf) if _is_key(leaf) else leaf)
        for path, leaf in leaves
        if _is_array(leaf)
    }


def _name(path) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _is_array(leaf) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, np.ndarray | jax.ShapeDtypeStruct)


def _is_key(leaf) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
