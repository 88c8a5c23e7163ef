"""Trees in files: written whole or not at all, and read back exactly."""

import errno
import os
import stat
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.artifact.sealed import read_document
from icpe.artifact.trees import named_arrays, read_tree, save_tree
from icpe.core.errors import WriteError
from icpe.core.files import check_writable, replacing

TREE = {
    "weights": (np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3), None),
    "count": np.int32(7),
    "flags": np.array([True, False]),
    "small": np.array([1, -1], np.int16),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.safetensors"


def assert_equal(one, other):
    def compare(a, b):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)

    jax.tree.map(compare, one, other)


def test_a_tree_and_its_document_come_back_as_they_were(path):
    document = {"a": [1, 2.5, None, True], "b": {"c": "ü"}}
    save_tree(path, TREE, document)
    assert read_document(path) == document
    assert_equal(read_tree(path, TREE), TREE)
    shapes = jax.eval_shape(lambda: jax.tree.map(jnp.asarray, TREE))
    assert_equal(read_tree(path, shapes), TREE)


def test_random_keys_and_rounded_weights_come_back(path):
    tree = {"key": jr.key(3), "rounded": jnp.asarray([0.1, 0.2], jnp.bfloat16)}
    save_tree(path, tree, {})
    found = read_tree(path, {"key": jr.key(0), "rounded": tree["rounded"]})
    np.testing.assert_array_equal(jr.key_data(found["key"]), jr.key_data(jr.key(3)))
    np.testing.assert_array_equal(found["rounded"], tree["rounded"])


def test_values_are_cast_to_what_is_asked_for(path):
    save_tree(path, {"x": np.array([0.5, 0.25], np.float16)}, {})
    found = read_tree(path, {"x": jax.ShapeDtypeStruct((2,), jnp.float32)})
    assert found["x"].dtype == jnp.float32
    np.testing.assert_array_equal(found["x"], [0.5, 0.25])


def test_arrays_are_named_by_their_path():
    assert set(named_arrays(TREE)) == {"weights.0", "flags", "small", "count"}


@pytest.mark.parametrize(
    "like, message",
    [
        ({"x": np.zeros(3)}, r"array x has shape \(2,\), expected \(3,\)"),
        ({"y": np.zeros(2)}, "array y is missing"),
        ({}, "array x does not belong here"),
        (
            {"x": np.zeros(2, np.float32), "z": np.zeros(1, np.float32)},
            "array z is missing",
        ),
    ],
)
def test_a_tree_that_does_not_fit_is_refused_by_the_name_of_the_array(
    path, like, message
):
    save_tree(path, {"x": np.zeros(2)}, {})
    with pytest.raises(ValueError, match=message):
        read_tree(path, like)


@pytest.mark.parametrize("content", [b"", b"not a file of tensors", b"\xff" * 64])
def test_a_foreign_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged or was not written by icpe"):
        read_document(path)
    with pytest.raises(ValueError, match="damaged"):
        read_tree(path, TREE)


def test_a_truncated_file_is_refused(path):
    save_tree(path, TREE, {"a": 1})
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="damaged"):
            read_document(path)


def test_a_missing_file_speaks_for_itself(path):
    with pytest.raises(FileNotFoundError):
        read_document(path)


def test_a_file_takes_its_place_only_when_all_went_well(path):
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    save_tree(path, TREE, {"version": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_tree(path, TREE, {"version": 2})
    assert read_document(path) == {"version": 1}
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_has_the_permissions_that_any_file_gets(path):
    before = os.umask(0o027)
    try:
        save_tree(path, {}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failed_write_is_one_sentence_of_its_own_kind(path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError) as caught:
        save_tree(path, TREE, {})
    assert str(caught.value) == (
        f"{path} could not be written: No space left on device; what was there is as "
        "before; make room on the disk and try again."
    )


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode(path, mode):
    path.write_text("old")
    path.chmod(mode)
    save_tree(path, {}, {})
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_read_only_file_is_refused(path):
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="is read-only"):
        save_tree(path, {}, {})
    assert path.read_text() == "old"


def test_a_symbolic_link_is_written_through(path, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target = folder / "target"
    path.symlink_to(target)
    for _ in range(2):  # at first it leads nowhere
        save_tree(path, {}, {"a": 1})
        assert path.is_symlink() and not target.is_symlink()
        assert read_document(target) == {"a": 1}
    assert sorted(it.name for it in folder.iterdir()) == ["target"]


def test_what_is_no_plain_file_is_refused(path, tmp_path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="is a pipe, not a file"):
        save_tree(path, {}, {})
    with pytest.raises(OSError, match="is a pipe, not a file"):
        read_document(path)
    with pytest.raises(OSError, match="is a device, not a file"):
        check_writable(Path(os.devnull))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="symbolic link"):
        check_writable(loop)


def test_what_killed_writers_left_is_removed_and_what_others_write_is_not(path):
    stale = path.with_name(f".{path.name}.abcd1234.tmp")
    stale.write_text("half")
    with replacing(path) as one:
        one.write_text("first")
        assert not stale.exists()
        with replacing(path) as other:
            other.write_text("second")
            assert one.exists()
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_written_later_is_refused_now(tmp_path):
    check_writable(tmp_path / "new")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_writable(tmp_path / "no" / "such")


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="cannot be written to"):
        check_writable(tmp_path / "new")
