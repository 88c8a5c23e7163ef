"""The MNIST digits (LeCun, Cortes and Burges): found, or fetched, and checked.

The four idx files are looked for, packed (.gz) or not, in a folder `mnist` inside
each of these: the folder named by the environment variable ICPE_DATA, and the user's
cache. If they are in neither, they are fetched into the cache.
"""

import gzip
import hashlib
import io
import os
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import numpy as np
from tqdm import tqdm

from icpe.core.errors import DataError
from icpe.core.files import replacing
from icpe.families.patches.images import ImageSource, LabeledImages, Split

FOLDER = "mnist"
CHECKSUMS = {
    "train-images-idx3-ubyte": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train-labels-idx1-ubyte": (
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "t10k-images-idx3-ubyte": (
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "t10k-labels-idx1-ubyte": (
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
}
"""SHA-256 of the unpacked files, by name."""
NUM_IMAGES: dict[Split, int] = {"train": 60_000, "test": 10_000}
_SIZES = {
    name: 16 + 784 * number if "images" in name else 8 + number
    for name in CHECKSUMS
    for number in [NUM_IMAGES["train" if name.startswith("train") else "test"]]
}
"""Bytes of the unpacked files; no more than that is read of any."""
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
_TIMEOUT = 20.0
_BLOCK = 1 << 16


def mnist_source() -> ImageSource:
    """28x28 digits, of which there are `NUM_IMAGES`."""
    return ImageSource(28, 28, tuple("0123456789"), load_mnist)


def load_mnist(split: Split) -> LabeledImages:
    """Reads one split.

    Raises:
        DataError: a file is missing and cannot be fetched, or is damaged.
    """
    prefix = {"train": "train", "test": "t10k"}[split]
    images = read_idx(f"{prefix}-images-idx3-ubyte")
    labels = read_idx(f"{prefix}-labels-idx1-ubyte")
    return LabeledImages(images, labels.astype(np.int32))


def data_folders() -> tuple[Path, ...]:
    """Where data is looked for, in this order; the last is the user's cache."""
    given = os.environ.get("ICPE_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (*([Path(given)] if given else []), cache / "icpe" / "data")


def read_idx(name: str) -> np.ndarray:
    """The array in one of the files, after its checksum was compared.

    Raises:
        DataError: the file is missing and cannot be fetched, or is damaged.
    """
    path = _find(name)
    content = _unpacked(path, name) if path is not None else None
    if content is None:
        path = data_folders()[-1] / FOLDER / f"{name}.gz"
        content = _fetch(name, path)
    found = hashlib.sha256(content).hexdigest()
    if found != CHECKSUMS[name]:
        raise DataError(
            f"{path} is not the MNIST file {name}: its SHA-256, unpacked, is "
            f"{found[:12]}..., expected {CHECKSUMS[name][:12]}...; replace it."
        )
    return _parse(content)


def _parse(content: bytes) -> np.ndarray:
    """The idx format: two zero bytes, the type (8 is uint8), the number of axes."""
    num_axes = content[3]
    header = 4 + 4 * num_axes
    shape = np.frombuffer(content[4:header], ">u4").astype(int)
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def _find(name: str) -> Path | None:
    for folder in data_folders():
        for candidate in (f"{name}.gz", name):
            path = folder / FOLDER / candidate
            if path.is_file():
                return path
    return None


def _unpacked(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_SIZES[name] + _BLOCK)  # packing adds little
        return _inflated(content, name) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read ({error}); replace it with the MNIST file of that "
            "name."
        ) from error


def _inflated(packed: bytes, name: str) -> bytes:
    """The unpacked file, up to one byte more than it has: packed ones may be bombs."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        return file.read(_SIZES[name] + 1)


def _fetch(name: str, path: Path) -> bytes:
    """Downloads a file from the first mirror that has it, and keeps it."""
    problems = []
    for mirror in MIRRORS:
        url = f"{mirror}/{name}.gz"
        try:
            packed = _download(url, name)
            content = _inflated(packed, name)
        except (OSError, EOFError, zlib.error, urllib.error.URLError) as error:
            problems.append(str(error))
            continue
        if hashlib.sha256(content).hexdigest() == CHECKSUMS[name]:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                temporary.write_bytes(packed)
            return content
        problems.append(f"{url} has another checksum")
    files = ", ".join(f"{file}.gz" for file in CHECKSUMS)
    raise DataError(
        f"The MNIST file {name}.gz was not found and could not be downloaded "
        f"({problems[-1]}); put {files} into {path.parent}, or into a folder "
        f"{FOLDER} inside the one that the environment variable ICPE_DATA names."
    )


def _download(url: str, name: str) -> bytes:
    blocks = []
    with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
        total = int(response.headers.get("Content-Length") or 0) or None
        with tqdm(
            total=total, desc=name, unit="B", unit_scale=True, leave=False, disable=None
        ) as bar:
            while block := response.read(_BLOCK):
                blocks.append(block)
                bar.update(len(block))
    return b"".join(blocks)
