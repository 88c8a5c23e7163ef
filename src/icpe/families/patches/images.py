"""Labeled images by name, read when they are first needed.

A family keeps the name of its images; the pixels are read when they are needed. Of the
training images a twelfth is held back: nothing learns from them, so that prices can be
chosen on them, and the test images are left for certificates.
"""

import functools as ft
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt8

from icpe.core.errors import DataError, InvalidParameterError, UnknownNameError

Split = Literal["train", "calibration", "test"]
_HELD_BACK = 12
"""One training image of so many is for calibration."""


class LabeledImages(NamedTuple):
    """Gray images of one size, and the class of each."""

    images: UInt8[Array | np.ndarray, "number height width"]
    labels: Int[Array | np.ndarray, "number"]


class ImageSource(NamedTuple):
    """Where images come from; size and classes are known without reading them.

    `load` is asked for "train", all of them, and for "test".
    """

    height: int
    width: int
    class_names: tuple[str, ...]
    load: Callable[[Split], LabeledImages]


_SOURCES: dict[str, Callable[[], ImageSource]] = {}


def register_images(name: str, make_source: Callable[[], ImageSource]) -> None:
    """Makes a set of images available by name to the family `patches`.

    Args:
        name: words joined by hyphens.
        make_source: gives the source; called when it is first asked for.

    Raises:
        InvalidParameterError: the name is taken by another source.
    """
    if _SOURCES.get(name, make_source) is not make_source:
        raise InvalidParameterError(
            f"name {name!r} is already registered; choose another name."
        )
    _SOURCES[name] = make_source


@ft.lru_cache
def image_source(name: str) -> ImageSource:
    """The source of a registered name, or of a file that ends in `.npz`.

    The file holds `train_images`, `train_labels`, `test_images` and `test_labels`:
    8-bit gray images along the first axis, and their classes counted from 0.

    Raises:
        UnknownNameError: neither a registered name nor a file.
        DataError: the file is damaged or lacks an array.
    """
    if name in _SOURCES:
        return _SOURCES[name]()
    if name.endswith(".npz"):
        return _source_of_file(Path(name))
    raise UnknownNameError(
        f"images must be {' or '.join(sorted(_SOURCES))} or a file that ends in .npz; "
        f"got {name!r}."
    )


@ft.lru_cache
def load_images(name: str, split: Split) -> LabeledImages:
    """The images of one split, read once.

    Raises:
        DataError: they cannot be found, are damaged, or are too few.
    """
    if split == "test":
        return image_source(name).load("test")
    found = image_source(name).load("train")
    if len(found.labels) < _HELD_BACK:
        raise DataError(
            f"{name} has {len(found.labels)} training images; at least {_HELD_BACK} "
            "are needed, since one of so many is held back for calibration."
        )
    rows = training_rows(len(found.labels), split)
    return LabeledImages(found.images[rows], found.labels[rows])


def training_rows(
    number: int, split: Literal["train", "calibration"]
) -> Int[np.ndarray, "rows"]:
    """Which of the training images are learned from, or held back for calibration."""
    # The legacy generator of numpy is frozen, so these stay the same.
    order = np.random.RandomState(0).permutation(number)
    held_back = number // _HELD_BACK
    return np.sort(order[:held_back] if split == "calibration" else order[held_back:])


@ft.lru_cache
def image_arrays(name: str, split: Split) -> LabeledImages:
    """The same as arrays of the default device, put there once."""
    return LabeledImages(*map(jnp.asarray, load_images(name, split)))


def _source_of_file(path: Path) -> ImageSource:
    loaded = {split: _read_split(path, split) for split in ("train", "test")}
    shapes = {found.images.shape[1:] for found in loaded.values()}
    if len(shapes) != 1:
        raise DataError(
            f"{path} has train and test images of different sizes "
            f"{sorted(shapes)}; make them equal."
        )
    ((height, width),) = shapes
    num_classes = 1 + max(int(found.labels.max()) for found in loaded.values())
    if num_classes < 2:
        raise DataError(f"{path} has one class alone; at least 2 are needed.")
    names = tuple(map(str, range(num_classes)))
    return ImageSource(height, width, names, loaded.__getitem__)


def _read_split(path: Path, split: Split) -> LabeledImages:
    try:
        with np.load(path, allow_pickle=False) as file:
            images, labels = file[f"{split}_images"], file[f"{split}_labels"]
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path} of images.") from error
    except KeyError as error:
        raise DataError(
            f"{path} lacks the array {split}_images or {split}_labels; it has to hold "
            "train_images, train_labels, test_images and test_labels."
        ) from error
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is not an .npz file that can be read.") from error
    if images.dtype != np.uint8 or images.ndim != 3 or not images.size:
        raise DataError(
            f"{split}_images in {path} must be 8-bit and have the axes number, height, "
            f"width; got {images.dtype} of shape {images.shape}."
        )
    if labels.shape != images.shape[:1] or labels.min() < 0:
        raise DataError(
            f"{split}_labels in {path} must be {len(images)} classes counted from 0; "
            f"got shape {labels.shape} and smallest value {labels.min()}."
        )
    return LabeledImages(images, labels.astype(np.int32))
