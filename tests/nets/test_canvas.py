"""Convolutions against scipy, and the picture that a summary is."""

import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.signal import correlate

from icpe.nets.canvas import CanvasEncoder, assemble
from icpe.nets.convolution import Convolution, fold, pool
from icpe.nets.tokens import Summary, tokens_along
from support.random_weights import random_weights


def picture(rows=5, columns=6, channels=2):
    random = np.random.default_rng(0)
    return jnp.asarray(random.normal(size=(rows, columns, channels)), jnp.float32)


@pytest.mark.parametrize("columns", [4, 50])  # by rows, and by windows
def test_a_convolution_is_the_correlation_with_its_kernels(columns):
    layer = Convolution(2, 3, key=jr.key(0))
    found = layer(picture(columns=columns))
    kernels = np.asarray(layer.layer.weight).reshape(3, 3, 3, 2)
    padded = np.pad(np.asarray(picture(columns=columns)), ((1, 1), (1, 1), (0, 0)))
    for channel, kernel in enumerate(kernels):
        expected = correlate(padded, kernel, mode="valid")[..., 0]
        np.testing.assert_allclose(found[..., channel], expected, atol=1e-5)


def test_pooling_takes_the_largest_and_lets_an_odd_row_stand_alone():
    x = jnp.arange(15.0).reshape(5, 3, 1)
    assert pool(x)[..., 0].tolist() == [[4.0, 5.0], [10.0, 11.0], [13.0, 14.0]]


def test_folding_keeps_every_pixel_beside_its_neighbors():
    folded = fold(picture(4, 6))
    assert folded.shape == (2, 3, 8)
    np.testing.assert_array_equal(folded[1, 2, 2:4], picture(4, 6)[2, 5])
    assert fold(picture(5, 3)).shape == (3, 2, 8)


def test_tiles_are_laid_row_by_row():
    tiles = jnp.arange(24.0).reshape(6, 4)
    whole = assemble(tiles, (2, 3), (2, 2))
    assert whole.shape == (4, 6)
    assert whole[2:, 2:4].tolist() == [[16.0, 17.0], [18.0, 19.0]]


def test_the_canvas_depends_on_what_was_seen_and_not_on_the_order():
    outcomes = jr.normal(jr.key(1), (4, 4)).at[0].set(0.0)
    build = ft.partial(CanvasEncoder, (2, 2), (2, 2), 8, bfloat16=False)
    encoder = random_weights(lambda key: build(key=key))

    @jax.jit
    def features(order):
        along = tokens_along(
            order,
            jnp.concatenate([outcomes[:1], outcomes[1:][order]]),
            4,
            Summary,
        )
        assert along.summary is not None
        return jax.vmap(encoder)(along.summary)

    one, other = features(jnp.array([0, 2, 1])), features(jnp.array([1, 2, 0]))
    np.testing.assert_allclose(one[3], other[3], atol=1e-5)
    assert not np.allclose(one[1], other[1], atol=1e-3)
