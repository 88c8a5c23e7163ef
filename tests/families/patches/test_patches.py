"""The family of patches."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.core.request import OperatingPoint
from icpe.families import Patches
from icpe.families.patches.images import load_images
from icpe.families.patches.law import PatchTask
from icpe.play.rollout import rollout_chunks
from icpe.testing import check_family
from support.explorers import FirstAllowed

FAMILY = Patches(images="drawn-digits", patch_size=10, horizon=5)
EXACT = {"rotation": 0, "shift": 0, "elastic": 0, "contrast": 0, "noise": 0}


@pytest.mark.slow
def test_patches_conform():
    check_family(FAMILY)


def test_mnist_has_36_patches_of_5x5_without_reading_a_file():
    spec = Patches().spec
    assert (spec.num_queries, spec.outcome_size, spec.num_hypotheses) == (36, 25, 10)
    assert (spec.query_grid, spec.outcome_shape) == ((6, 6), (5, 5))
    assert spec.horizon == 36 and spec.ask_once
    assert spec.query_name(7) == "row 2, column 2"


def test_a_query_reveals_its_patch_of_the_padded_image():
    family = Patches(images="drawn-digits", patch_size=5)
    image = jnp.arange(900.0).reshape(30, 30)
    task = PatchTask(image, jnp.asarray(3))
    state = family.reset(task, key=jr.key(0)).state
    result = family.step(state, jnp.asarray(8), task, key=jr.key(1))
    expected = np.arange(900.0).reshape(30, 30)[5:10, 10:15]
    np.testing.assert_array_equal(result.outcome.reshape(5, 5), expected)
    assert int(family.hypothesis(task)) == 3


@pytest.mark.parametrize("repeats", [False, True])
def test_a_revealed_patch_is_asked_for_again_only_with_repeats(repeats):
    family = Patches(images="drawn-digits", patch_size=14, repeats=repeats)
    task = PatchTask(jnp.zeros((28, 28)), jnp.asarray(0))
    result = family.reset(task, key=jr.key(0))
    assert result.query_mask.all() and not result.outcome.any()
    assert family.spec.ask_once is not repeats
    point = OperatingPoint.at(4, budget=4)
    [transcript] = rollout_chunks(FirstAllowed(), family, point, 2, key=jr.key(0))
    asked = [0] * 4 if repeats else [0, 1, 2, 3]
    assert transcript.history.queries.tolist() == [asked] * 2


def test_padding_is_even_on_both_sides():
    padded = np.asarray(FAMILY.pad(jnp.ones((28, 28))))
    assert padded.shape == (30, 30)
    assert padded[1:-1, 1:-1].all() and padded.sum() == 28 * 28


@pytest.mark.slow
def test_without_distortion_tasks_are_images_of_the_split(draw_tasks):
    family = Patches(images="drawn-digits", split="test", patch_size=10, **EXACT)  # pyright: ignore[reportArgumentType]
    tasks = draw_tasks(family, 16)
    data = load_images("drawn-digits", "test")
    for image, label in zip(tasks.image, tasks.label, strict=True):
        inner = image[1:-1, 1:-1]
        gaps = np.abs(data.images / 255.0 - inner).max(axis=(1, 2))
        assert gaps.min() < 1e-5 and data.labels[gaps.argmin()] == label


@pytest.mark.parametrize(
    "bad", [{"patch_size": 0}, {"patch_size": 29}, {"horizon": 37}, {"noise": -1.0}]
)
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        Patches(images="drawn-digits", **bad)


@pytest.mark.slow
@pytest.mark.usefixtures("mnist")
def test_patches_of_mnist_conform():
    check_family(Patches(split="test", horizon=12, repeats=True))
