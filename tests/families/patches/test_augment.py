"""Distortions: shapes, ranges, determinism, and each part against a closed form."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from icpe.core.errors import InvalidParameterError
from icpe.families.patches.augment import Distortion, distort, placement, smooth_noise

distorted_once = jax.jit(
    lambda image, distortion, key: distort(image, distortion, key=key), static_argnums=1
)
NONE = Distortion(rotation=0.0, shift=0.0, elastic=0.0, contrast=0.0, noise=0.0)


def picture(height=9, width=12):
    return jnp.asarray(np.random.default_rng(0).random((height, width)), jnp.float32)


@pytest.fixture(scope="module")
def distorted():
    """The default distortion of one picture with 512 keys."""
    run = jax.jit(jax.vmap(lambda key: distort(picture(), Distortion(), key=key)))
    keys = jr.split(jr.key(0), 512)
    return run, keys, np.asarray(run(keys))


def test_a_distorted_picture_keeps_its_shape_and_range(distorted):
    _, _, pictures = distorted
    assert pictures.shape == (512, 9, 12)
    assert pictures.min() == 0.0 and pictures.max() == 1.0


def test_equal_keys_distort_equally_and_others_differently(distorted):
    run, keys, pictures = distorted
    np.testing.assert_array_equal(run(keys), pictures)
    assert len(np.unique(pictures.reshape(512, -1), axis=0)) == 512


def test_nothing_happens_at_strength_zero():
    np.testing.assert_allclose(
        distorted_once(picture(), NONE, jr.key(1)), picture(), atol=1e-6
    )


@pytest.mark.slow
def test_turning_and_moving_keep_distances_and_stay_within_their_limits():
    shape, limits = (9, 12), dataclasses.replace(NONE, rotation=30.0, shift=2.0)
    place = jax.jit(jax.vmap(lambda key: placement(shape, limits, key=key)))
    source = np.asarray(place(jr.split(jr.key(2), 2000)))
    along_row = source[:, :, 4, 1] - source[:, :, 4, 0]
    np.testing.assert_allclose(np.linalg.norm(along_row, axis=1), 1.0, atol=1e-5)
    angle = np.degrees(np.arctan2(-along_row[:, 0], along_row[:, 1]))
    middle = source[:, :, 4, 5:7].mean(axis=2) - [[4.0, 5.5]]
    for values, limit in ((angle, 30.0), (middle.ravel(), 2.0)):
        assert np.abs(values).max() <= limit * (1 + 1e-4)
        # Of 2000 uniform draws none beyond 99 % of the limit: 2e-9.
        assert values.max() > 0.99 * limit and values.min() < -0.99 * limit


def test_turning_is_the_interpolation_of_scipy_at_the_turned_pixels():
    square = picture(7, 7)
    turned = distorted_once(square, dataclasses.replace(NONE, rotation=90.0), jr.key(5))
    place_key = jr.split(jr.key(5), 4)[0]
    angle = np.radians(90) * float(
        jr.uniform(jr.split(place_key)[0], (), minval=-1.0, maxval=1.0)
    )
    rows, columns = np.mgrid[:7, :7] - 3.0
    source = [
        np.cos(angle) * rows - np.sin(angle) * columns + 3.0,
        np.sin(angle) * rows + np.cos(angle) * columns + 3.0,
    ]
    expected = map_coordinates(
        np.asarray(square), source, order=1, mode="grid-constant"
    )
    np.testing.assert_allclose(turned, expected, atol=1e-5)


@pytest.mark.slow
def test_bending_has_unit_variance_everywhere_and_the_smoothness_asked_for():
    draw = jax.jit(
        jax.vmap(lambda key: smooth_noise((20, 24), 4.0, key=key)),
    )
    fields = np.asarray(draw(jr.split(jr.key(3), 4000)))
    variance = np.square(fields).mean(axis=(0, 1))
    # Relative standard error sqrt(2 / 8000) = 0.016; six of them at 480 pixels: 1e-6.
    np.testing.assert_allclose(variance, 1.0, atol=0.095)
    # In the middle, two Gaussians 4 apart overlap to exp(-4² / (4 * 4²)).
    product = np.mean(fields[:, :, 10, 10] * fields[:, :, 10, 14])
    assert abs(product - np.exp(-0.25)) < 0.08


def test_contrast_stretches_about_the_mean():
    flat = 0.4 + 0.2 * picture()
    changed = distorted_once(flat, dataclasses.replace(NONE, contrast=0.3), jr.key(4))
    ratio = np.asarray((changed - changed.mean()) / (flat - flat.mean()))
    assert 0.7 <= ratio.mean() <= 1.3 and abs(ratio.mean() - 1.0) > 0.01
    np.testing.assert_allclose(ratio, ratio.mean(), atol=1e-3)
    np.testing.assert_allclose(changed.mean(), flat.mean(), atol=1e-5)


@pytest.mark.slow
def test_noise_has_the_standard_deviation_asked_for():
    gray = jnp.full((60, 60), 0.5)
    noisy = distorted_once(gray, dataclasses.replace(NONE, noise=0.1), jr.key(6))
    inside = np.asarray(noisy - gray)[2:-2, 2:-2]
    # Relative standard error 1 / sqrt(2 * 3136) = 0.013; five of them: 6e-7.
    assert abs(inside.std() / 0.1 - 1.0) < 0.065


@pytest.mark.parametrize(
    "bad",
    [
        {"rotation": 181.0},
        {"shift": -1.0},
        {"elastic": -1.0},
        {"elastic_scale": 0.0},
        {"contrast": 1.5},
        {"noise": float("nan")},
    ],
)
def test_an_impossible_strength_is_refused_by_name(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        Distortion(**bad)
