"""Trees of arrays in safetensors files, each with a JSON document."""

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
from safetensors.numpy import save_file

from icpe.core.arrays import PyTree
from icpe.core.files import replacing

_DOCUMENT = "icpe"
_DATA_PREFIXES = ("family.", "guard.")


def save_tree(
    path: Path,
    tree: PyTree,
    document: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
) -> None:
    """Writes the arrays of a tree and a JSON document into one safetensors file.

    Arrays whose values bfloat16 can hold (see `rounded`) take half the space. `data`
    are further arrays by name, which begins with `family.` or `guard.`; `read_data`
    reads them.
    """
    arrays = {name: _compact(array) for name, array in named_arrays(tree).items()}
    arrays |= {name: np.asarray(array) for name, array in (data or {}).items()}
    with replacing(path) as temporary:
        metadata = {_DOCUMENT: json.dumps(document)}
        save_file(arrays, str(temporary), metadata=metadata)


def _compact(array: np.ndarray) -> np.ndarray:
    """The same values in half the space, where that is possible."""
    if array.dtype != np.float32 or not array.size:
        return array
    half = array.astype(jnp.bfloat16)
    same = np.array_equal(half.astype(np.float32), array, equal_nan=True)
    return half if same else array


def read_document(path: Path) -> dict[str, Any]:
    """The JSON document in a file made by `save_tree`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a file.
    """
    with path.open("rb"):
        pass  # a missing or unreadable file speaks for itself
    try:
        with safe_open(str(path), framework="np") as file:
            metadata = file.metadata() or {}
        return json.loads(metadata[_DOCUMENT])
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ValueError("it is damaged or was not written by icpe") from error


def read_tree(path: Path, like: PyTree) -> PyTree:
    """The arrays of a file made by `save_tree`, in the shape of the tree `like`.

    The leaves of `like` may be arrays or `jax.ShapeDtypeStruct`s; values are cast to
    their dtypes.

    Raises:
        ValueError: an array is missing, superfluous or of another shape; the
            message names it.
    """
    try:
        with safe_open(str(path), framework="np") as file:
            names = [n for n in file.keys() if not n.startswith(_DATA_PREFIXES)]  # noqa: SIM118
            arrays = {name: file.get_tensor(name) for name in names}
    except SafetensorError as error:
        raise ValueError("it is damaged") from error

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


def read_data(path: Path, prefix: str) -> dict[str, np.ndarray]:
    """The arrays that `save_tree` was given as `data`, by what follows the prefix.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        with safe_open(str(path), framework="np") as file:
            return {
                name.removeprefix(prefix): file.get_tensor(name)
                for name in file.keys()  # noqa: SIM118
                if name.startswith(prefix)
            }
    except SafetensorError as error:
        raise ValueError("it is damaged") from error


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
