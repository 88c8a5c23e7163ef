"""Images by name, and images of one's own in a file."""

import numpy as np
import pytest

from icpe.core.errors import DataError, InvalidParameterError, UnknownNameError
from icpe.families import Patches
from icpe.families.patches.drawn_digits import drawn_digits_source
from icpe.families.patches.images import image_source, load_images, register_images


def arrays(**changes):
    images = np.arange(2 * 4 * 6, dtype=np.uint8).reshape(2, 4, 6)
    given = {
        "train_images": images,
        "train_labels": np.array([0, 2]),
        "test_images": images[:1],
        "test_labels": np.array([1]),
    }
    return {k: v for k, v in {**given, **changes}.items() if v is not None}


def write(path, **changes):
    np.savez(path, **arrays(**changes))
    return str(path)


def test_a_file_of_images_makes_a_family(tmp_path):
    family = Patches(images=write(tmp_path / "mine.npz"), patch_size=2)
    assert family.spec.num_queries == 6
    assert family.spec.num_hypotheses == 3
    assert family.spec.query_grid == (2, 3)
    assert len(load_images(family.images, "test").labels) == 1


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"test_labels": None}, "lacks"),
        ({"train_images": np.zeros((2, 4, 6))}, "8-bit"),
        ({"train_images": np.zeros((0, 4, 6), np.uint8)}, "8-bit"),
        ({"train_labels": np.array([0])}, "2 classes"),
        ({"train_labels": np.array([0, -1])}, "-1"),
        ({"test_images": np.zeros((1, 4, 4), np.uint8)}, "different sizes"),
        ({"train_labels": np.zeros(2, int), "test_labels": np.zeros(1, int)}, "one"),
    ],
)
def test_a_malformed_file_is_refused_with_what_is_wrong(tmp_path, changes, word):
    with pytest.raises(DataError, match=word):
        Patches(images=write(tmp_path / "bad.npz", **changes), patch_size=2)


def test_images_too_few_to_hold_some_back_are_refused(tmp_path):
    family = Patches(images=write(tmp_path / "few.npz"), patch_size=2)
    with pytest.raises(DataError, match="2 training images; at least 12 are needed"):
        family.with_data()


def test_a_missing_or_foreign_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="no file"):
        Patches(images=str(tmp_path / "absent.npz"))
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(DataError, match="can be read"):
        Patches(images=str(tmp_path / "text.npz"))


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="drawn-digits or mnist or a file"):
        Patches(images="letters")


def test_a_name_is_registered_once():
    register_images("drawn-digits", drawn_digits_source)
    with pytest.raises(InvalidParameterError, match="already registered"):
        register_images("drawn-digits", lambda: drawn_digits_source())


def test_drawn_digits_are_ten_classes_told_apart_by_their_nearest_neighbor():
    source = image_source("drawn-digits")
    train, test = (source.load(split) for split in ("train", "test"))
    assert source.class_names == tuple("0123456789")
    assert np.bincount(train.labels).tolist() == [200] * 10
    known, asked = (
        x.images.reshape(len(x.labels), -1).astype(np.float32) for x in (train, test)
    )
    gaps = np.square(asked).sum(1)[:, None] - 2 * asked @ known.T
    nearest = np.argmin(gaps + np.square(known).sum(1), axis=1)
    assert np.mean(train.labels[nearest] == test.labels) > 0.99
