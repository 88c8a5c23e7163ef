"""Trees of arrays in sealed files; see `icpe.artifact.sealed`."""

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
from safetensors.numpy import save

from icpe.artifact.sealed import (
    DATA_PREFIXES,
    DOCUMENT,
    LONGEST_DOCUMENT,
    SEAL,
    Stored,
    read_stored,
    seal_of,
    update_with_arrays,
)
from icpe.core.arrays import PyTree
from icpe.core.files import replacing


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
    text = json.dumps({**document, SEAL: seal_of(document, arrays)})
    if len(text) > LONGEST_DOCUMENT:
        raise ValueError(f"the document of {path} is too long: {len(text)} characters")
    with replacing(path) as temporary:
        temporary.write_bytes(save(arrays, metadata={DOCUMENT: text}))


def _compact(array: np.ndarray) -> np.ndarray:
    """The same values in half the space, where that is possible."""
    if array.dtype != np.float32 or not array.size:
        return array
    half = array.astype(jnp.bfloat16)
    same = np.array_equal(half.astype(np.float32), array, equal_nan=True)
    return half if same else array


def restore_tree(stored: Stored, like: PyTree) -> PyTree:
    """The arrays of a file in the shape of the tree `like`.

    The leaves of `like` may be arrays or `jax.ShapeDtypeStruct`s; values are cast to
    their dtypes.

    Raises:
        ValueError: an array is missing, superfluous or of another shape; the message
            names it.
    """
    arrays = {
        name: array
        for name, array in stored.arrays.items()
        if not name.startswith(DATA_PREFIXES)
    }

    def restore(key_path, leaf):
        if not _is_array(leaf):
            return leaf
        name = _name(key_path)
        if name not in arrays:
            raise ValueError(f"array {name} is missing")
        found = arrays.pop(name)
        shaped = jax.eval_shape(jr.key_data, leaf) if _is_key(leaf) else leaf
        if found.shape != shaped.shape:
            raise ValueError(
                f"array {name} has shape {found.shape}, expected {shaped.shape}"
            )
        if _is_key(leaf):
            return jr.wrap_key_data(jnp.asarray(found))
        return jnp.asarray(found).astype(leaf.dtype)

    tree = jax.tree_util.tree_map_with_path(restore, like)
    if arrays:
        raise ValueError(f"array {min(arrays)} does not belong here")
    return tree


def read_tree(path: Path, like: PyTree) -> PyTree:
    """The arrays of a file made by `save_tree`; see `restore_tree`."""
    return restore_tree(read_stored(path), like)


def named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """The arrays of a tree by their path; random keys as their integers."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        _name(path): np.asarray(jr.key_data(leaf) if _is_key(leaf) else leaf)
        for path, leaf in leaves
        if _is_array(leaf)
    }


def hash_arrays(tree: PyTree) -> str:
    """A short hash of the names, types, shapes and bits of all arrays of a tree."""
    total = hashlib.sha256()
    update_with_arrays(total, named_arrays(tree))
    return total.hexdigest()[:32]


def _name(path) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _is_array(leaf) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, np.ndarray | jax.ShapeDtypeStruct)


def _is_key(leaf) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
