"""Dropout leaves the Transformer as it is on average, and at rate 0 exactly."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.nets.dropout import Dropout
from icpe.nets.transformer import CausalTransformer, TransformerConfig


@pytest.mark.parametrize("num_kv_heads", [1, 2])
def test_nothing_is_dropped_at_rate_zero(num_kv_heads):
    config = TransformerConfig(8, 2, num_heads=2, num_kv_heads=num_kv_heads)
    net = CausalTransformer(config, 5, key=jr.key(0))
    tokens = jr.normal(jr.key(1), (4, 8))
    found = Dropout(0.0).features(net, tokens, key=jr.key(2))
    np.testing.assert_allclose(found, net(tokens), atol=1e-5)


def test_entries_vanish_with_the_rate_and_the_rest_makes_up_for_them():
    kept = Dropout(0.25)(jnp.ones(40_000), key=jr.key(0))
    assert set(np.unique(kept)) == {np.float32(0.0), np.float32(1 / 0.75)}
    # Five standard errors of a share of 0.25: false alarm below 1e-6.
    assert np.mean(kept == 0) == pytest.approx(0.25, abs=5 * 0.0022)


def test_dropout_changes_features_without_looking_ahead():
    config = TransformerConfig(8, 1, num_heads=2)
    net = CausalTransformer(config, 5, key=jr.key(0))
    tokens = jr.normal(jr.key(1), (4, 8))
    dropped = Dropout(0.5)

    def first(token):
        given = tokens.at[3].set(token)
        return dropped.features(net, given, key=jr.key(2))[:3]

    assert not np.allclose(first(tokens[3]), net(tokens)[:3], atol=1e-2)
    slope = jax.jacobian(first)(tokens[3])
    np.testing.assert_array_equal(slope, 0.0)
