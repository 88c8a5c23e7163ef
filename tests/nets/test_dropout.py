"""Dropout leaves the Transformer as it is on average, and at rate 0 exactly."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.nets.dropout import Dropout
from icpe.nets.transformer import CausalTransformer, TransformerConfig
from support.random_weights import random_weights


@pytest.fixture(scope="module")
def net():
    config = TransformerConfig(8, 1, num_heads=2)
    return random_weights(lambda key: CausalTransformer(config, 5, key=key))


@eqx.filter_jit
def features(net, tokens, dropout):
    return dropout.features(net, tokens, key=jr.key(2))


@pytest.mark.slow
def test_nothing_is_dropped_at_rate_zero(net):
    tokens = jr.normal(jr.key(1), (4, 8))
    found = features(net, tokens, Dropout(0.0))
    np.testing.assert_allclose(found, eqx.filter_jit(net)(tokens), atol=1e-5)


def test_entries_vanish_with_the_rate_and_the_rest_makes_up_for_them():
    kept = Dropout(0.25)(jnp.ones(40_000), key=jr.key(0))
    assert set(np.unique(kept)) == {np.float32(0.0), np.float32(1 / 0.75)}
    # Five standard errors of a share of 0.25: false alarm below 1e-6.
    assert np.mean(kept == 0) == pytest.approx(0.25, abs=5 * 0.0022)


@pytest.mark.slow
def test_dropout_changes_features_without_looking_ahead(net):
    tokens = jr.normal(jr.key(1), (4, 8))
    found = features(net, tokens, Dropout(0.5))
    assert not np.allclose(found, features(net, tokens, Dropout(0.0)), atol=1e-2)
    later = features(net, tokens.at[3].add(1.0), Dropout(0.5))
    np.testing.assert_allclose(later[:3], found[:3], atol=1e-6)
    assert not np.allclose(later[3], found[3], atol=1e-2)
