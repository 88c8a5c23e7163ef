"""Trees of arrays in safetensors files, written so that nothing is ever half there."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from icpe.types import PyTree

_DOCUMENT = "icpe"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when all went well.

    It is flushed to the disk before it is renamed; on an error it is removed and
    what was at `path` stays.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def save_tree(path: Path, tree: PyTree, document: Mapping[str, Any]) -> None:
    """Writes the arrays of a tree and a JSON document into one safetensors file.

    Arrays whose values bfloat16 can hold (see `rounded`) take half the space.
    """
    arrays = {name: _compact(array) for name, array in named_arrays(tree).items()}
    with replacing(path) as temporary:
        metadata = {_DOCUMENT: json.dumps(document)}
        save_file(arrays, str(temporary), metadata=metadata)


def rounded(tree: PyTree) -> PyTree:
    """The tree with its float32 arrays rounded to what bfloat16 can hold."""

    def round_leaf(leaf):
        if not eqx.is_array(leaf) or leaf.dtype != jnp.float32:
            return leaf
        return leaf.astype(jnp.bfloat16).astype(jnp.float32)

    return jax.tree.map(round_leaf, tree)


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
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
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


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_writable(path: Path) -> None:
    """Raises OSError now if `path` could not be written later."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"the folder {path.parent} cannot be written to")


def check_folder(folder: Path) -> None:
    """Makes a folder; raises OSError now if files could not be written to it later."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"the folder cannot be made or written to ({error.strerror})"
        ) from error
