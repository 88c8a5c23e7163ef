"""Images that are learned from, held back for calibration, and counted once."""

import numpy as np
import pytest

from icpe.families import Patches
from icpe.families.patches.images import load_images, training_rows

FAMILY = Patches(images="drawn-digits", patch_size=14)
EXACT = Patches(
    images="drawn-digits",
    patch_size=14,
    rotation=0,
    shift=0,
    elastic=0,
    contrast=0,
    noise=0,
)


@pytest.mark.parametrize("number", [11, 12, 2000, 60_000])
def test_a_twelfth_is_held_back_and_the_rest_is_learned_from(number):
    learned, held_back = (
        training_rows(number, split) for split in ("train", "calibration")
    )
    assert len(held_back) == number // 12
    both = np.concatenate([learned, held_back])
    assert np.array_equal(np.sort(both), np.arange(number))


def test_the_same_images_are_held_back_every_time():
    assert training_rows(60_000, "calibration")[:4].tolist() == [17, 28, 50, 66]


def test_the_splits_of_a_source_are_its_images_each_in_one_of_them():
    parts = [load_images("drawn-digits", split) for split in ("train", "calibration")]
    assert [len(part.labels) for part in parts] == [1834, 166]
    assert set(parts[1].labels.tolist()) == set(range(10))
    seen, held_back = ({image.tobytes() for image in part.images} for part in parts)
    assert not seen & held_back


@pytest.mark.parametrize("split", ["calibration", "test"])
def test_cases_are_the_images_of_their_split_each_once(split):
    cases = {"calibration": EXACT.calibration_cases(), "test": EXACT.held_out_cases()}
    data = load_images("drawn-digits", split)
    found = cases[split]
    assert found is not None
    np.testing.assert_allclose(found.image, data.images / 255.0, atol=1e-6)
    np.testing.assert_array_equal(found.label, data.labels)


def test_a_case_is_distorted_once_and_for_all():
    one, two = FAMILY.held_out_cases(), FAMILY.with_data().held_out_cases()
    assert one is not None and two is not None
    np.testing.assert_array_equal(one.image, two.image)
    plain = EXACT.held_out_cases()
    assert plain is not None
    assert float(np.abs(np.asarray(one.image - plain.image)).mean()) > 0.01


@pytest.mark.parametrize("split", ["calibration", "test"])
def test_a_family_of_other_images_draws_them_and_holds_nothing_out(split):
    family = Patches(images="drawn-digits", patch_size=14, split=split)
    assert family.calibration_cases() is None and family.held_out_cases() is None
