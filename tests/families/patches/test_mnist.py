"""MNIST: found, checked, fetched, and every way in which that fails."""

import gzip
import hashlib
import io
import tracemalloc
import urllib.error

import numpy as np
import pytest

from icpe.core.errors import DataError
from icpe.families.patches import mnist

NAME = "t10k-labels-idx1-ubyte"
LABELS = np.array([7, 2, 1, 0], np.uint8)
CONTENT = bytes([0, 0, 8, 1]) + (4).to_bytes(4, "big") + LABELS.tobytes()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A data folder and a cache, both empty; one tiny file is the right one."""
    given, cache = tmp_path / "data", tmp_path / "cache"
    monkeypatch.setenv("ICPE_DATA", str(given))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    checksum = hashlib.sha256(CONTENT).hexdigest()
    monkeypatch.setattr(mnist, "CHECKSUMS", {**mnist.CHECKSUMS, NAME: checksum})
    monkeypatch.setattr(mnist.urllib.request, "urlopen", unreachable)
    for folder in (given / "mnist", cache / "icpe" / "data" / "mnist"):
        folder.mkdir(parents=True)
    return given / "mnist", cache / "icpe" / "data" / "mnist"


def unreachable(url, timeout):
    raise urllib.error.URLError("no network")


def answering(packed):
    class Response(io.BytesIO):
        headers = {"Content-Length": str(len(packed))}  # noqa: RUF012

    return lambda url, timeout: Response(packed)


@pytest.mark.parametrize("which", [0, 1], ids=["ICPE_DATA", "cache"])
@pytest.mark.parametrize("packed", [True, False], ids=["gz", "unpacked"])
def test_a_file_is_found_in_either_folder_packed_or_not(folders, which, packed):
    path = folders[which] / (f"{NAME}.gz" if packed else NAME)
    path.write_bytes(gzip.compress(CONTENT) if packed else CONTENT)
    np.testing.assert_array_equal(mnist.read_idx(NAME), LABELS)


def test_the_given_folder_comes_before_the_cache(folders):
    given, cache = folders
    (given / NAME).write_bytes(CONTENT)
    (cache / NAME).write_bytes(b"another file")
    np.testing.assert_array_equal(mnist.read_idx(NAME), LABELS)


def test_a_file_of_several_axes_keeps_its_shape():
    content = bytes([0, 0, 8, 3, *(0, 0, 0, 2), *(0, 0, 0, 1), *(0, 0, 0, 3)])
    parsed = mnist._parse(content + bytes(range(6)))
    np.testing.assert_array_equal(parsed, np.arange(6).reshape(2, 1, 3))


def test_another_file_under_the_name_is_refused_by_its_checksum(folders):
    path = folders[0] / f"{NAME}.gz"
    path.write_bytes(gzip.compress(CONTENT[:-1] + b"\x05"))
    with pytest.raises(DataError, match=r"SHA-256.*replace it") as caught:
        mnist.read_idx(NAME)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("packed", [True, False], ids=["gz", "unpacked"])
def test_a_file_that_is_far_too_large_is_not_read_whole(folders, packed):
    large = bytes(2**26)
    path = folders[0] / (f"{NAME}.gz" if packed else NAME)
    path.write_bytes(gzip.compress(large, 1) if packed else large)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"SHA-256.*replace it"):
        mnist.read_idx(NAME)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (2**22 if packed else 2**26)


@pytest.mark.parametrize("damage", ["cut", "flipped", "no gzip"])
def test_a_damaged_file_is_refused_by_name(folders, damage):
    packed = bytearray(gzip.compress(CONTENT))
    if damage == "cut":
        packed = packed[:-9]
    elif damage == "flipped":
        packed[-1] ^= 1
    else:
        packed = bytearray(CONTENT)
    path = folders[0] / f"{NAME}.gz"
    path.write_bytes(packed)
    with pytest.raises(DataError, match="replace it") as caught:
        mnist.read_idx(NAME)
    assert str(path) in str(caught.value)


def test_without_files_and_network_the_error_says_what_to_put_where(folders):
    with pytest.raises(DataError) as caught:
        mnist.read_idx(NAME)
    message = str(caught.value)
    assert "no network" in message and "ICPE_DATA" in message
    assert str(folders[1]) in message
    for name in mnist.CHECKSUMS:
        assert f"{name}.gz" in message


def test_a_missing_file_is_downloaded_once_and_kept(folders, monkeypatch):
    monkeypatch.setattr(
        mnist.urllib.request, "urlopen", answering(gzip.compress(CONTENT))
    )
    np.testing.assert_array_equal(mnist.read_idx(NAME), LABELS)
    monkeypatch.setattr(mnist.urllib.request, "urlopen", unreachable)
    np.testing.assert_array_equal(mnist.read_idx(NAME), LABELS)
    assert [path.name for path in folders[1].iterdir()] == [f"{NAME}.gz"]


def test_a_wrong_download_is_not_kept(folders, monkeypatch):
    monkeypatch.setattr(
        mnist.urllib.request, "urlopen", answering(gzip.compress(CONTENT + b"\x00"))
    )
    with pytest.raises(DataError, match="another checksum"):
        mnist.read_idx(NAME)
    assert not list(folders[1].iterdir())


@pytest.mark.usefixtures("mnist")
def test_the_real_files_have_the_known_numbers_of_each_digit():
    data = mnist.load_mnist("test")
    assert data.images.shape == (10_000, 28, 28)
    counts = np.bincount(data.labels)
    assert counts.tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
