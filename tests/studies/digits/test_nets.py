"""Networks on whole and on masked pictures."""

import functools as ft

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.nets.tokens import Summary
from icpe.studies.digits.nets import (
    MaskedPictureNet,
    PictureClassifier,
    drop,
    seen_picture,
)
from support.random_weights import random_weights


@pytest.fixture(scope="module")
def net():
    build = ft.partial(MaskedPictureNet, (2, 2), (2, 2), 4, channels=2, width=8)
    return random_weights(lambda key: build(key=key))


def seen():
    return Summary(jnp.array([0.0, 1.0, 2.0, 0.0]), jnp.arange(16.0).reshape(4, 4))


def test_a_tile_seen_twice_shows_its_mean_and_a_hidden_one_is_black():
    hidden = Summary(seen().counts, seen().sums * jnp.sign(seen().counts)[:, None])
    picture = np.asarray(seen_picture(hidden, (2, 2), (2, 2)))
    assert picture.tolist() == [
        [0, 0, 4, 5],
        [0, 0, 6, 7],
        [4, 4.5, 0, 0],
        [5, 5.5, 0, 0],
    ]


@pytest.mark.slow
def test_dropout_keeps_the_mean_and_does_nothing_without_a_key():
    x = jnp.ones(4000)
    np.testing.assert_array_equal(drop(x, jnp.asarray(0.9), key=None), x)
    dropped = np.asarray(drop(x, jnp.asarray(0.75), key=jr.key(0)))
    assert set(np.unique(dropped)) == {0.0, 4.0}
    # Standard error sqrt(3 / 4000) = 0.027; six of them: 2e-9.
    assert abs(dropped.mean() - 1.0) < 0.165
    assert np.isfinite(drop(x, jnp.asarray(1.0), key=jr.key(1))).all()


def test_masked_values_depend_on_pixels_counts_and_dropout(net):
    forward = eqx.filter_jit(
        lambda seen, rate, key: net(seen, dropout=rate, key=key), donate="none"
    )
    half, nothing = jnp.asarray(0.5), jnp.asarray(0.0)
    base = forward(seen(), nothing, jr.key(0))
    assert base.shape == (4,)
    np.testing.assert_array_equal(forward(seen(), nothing, jr.key(1)), base)
    counted = Summary(seen().counts + 1.0, seen().sums)
    assert not np.allclose(forward(counted, nothing, jr.key(0)), base)
    one, other = (forward(seen(), half, jr.key(i)) for i in range(2))
    assert not np.allclose(one, other)


@pytest.mark.slow
def test_a_classifier_gives_a_logit_for_every_class():
    build = ft.partial(PictureClassifier, (6, 5), 3, channels=2, width=8)
    classifier = random_weights(lambda key: build(key=key))
    logits = eqx.filter_jit(classifier)(jnp.ones((6, 5)))
    assert logits.shape == (3,) and np.isfinite(logits).all()
