"""The parallel and the incremental pass are one function, and it is causal."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax

from icpe.core.errors import InvalidParameterError
from icpe.core.memory import StepCount
from icpe.nets import transformer as module
from icpe.nets.transformer import (
    CausalTransformer,
    TransformerConfig,
    in_compute_dtype,
)
from support.random_weights import random_weights

CAPACITY = 7
SMALL = TransformerConfig(width=12, num_layers=2, num_heads=3)


def random_transformer(config, seed=0):
    """Every parameter random, also those that start at 0 or 1."""
    return random_weights(
        lambda key: CausalTransformer(config, CAPACITY, key=key), seed=seed, scale=0.4
    )


def test_padding_changes_nothing(monkeypatch):
    net = random_transformer(SMALL)
    tokens = jr.normal(jr.key(3), (CAPACITY, SMALL.width))
    plain = eqx.filter_jit(lambda tokens: net(tokens))(tokens)
    monkeypatch.setattr(TransformerConfig, "padded", lambda _, n: n + -n % 8)
    padded = eqx.filter_jit(lambda tokens: net(tokens))(tokens)
    np.testing.assert_allclose(padded, plain, atol=1e-5)


def test_blocks_one_by_one_are_the_scan_of_them(monkeypatch):
    net = random_transformer(SMALL)
    tokens = jr.normal(jr.key(3), (CAPACITY, SMALL.width))
    scanned = eqx.filter_jit(lambda tokens: net(tokens))(tokens)
    monkeypatch.setattr(module, "_unrolls", lambda: True)
    unrolled = eqx.filter_jit(lambda tokens: net(tokens))(tokens)
    np.testing.assert_allclose(unrolled, scanned, atol=1e-5)


def step_by_step(net, tokens, bound):
    """The features of every token by the incremental pass."""

    def step(carry, token):
        cache, position = carry
        features, cache = net.step(token, cache, StepCount(position, bound))
        return (cache, position + 1), features

    start = (net.init_cache(), jnp.zeros((), jnp.int32))
    return lax.scan(step, start, tokens)[1]


one_by_one = eqx.filter_jit(step_by_step)


def test_a_longer_cache_changes_nothing(monkeypatch):
    net = random_transformer(SMALL)
    tokens = jr.normal(jr.key(3), (CAPACITY, SMALL.width))
    plain = one_by_one(net, tokens, CAPACITY - 1)
    monkeypatch.setattr(TransformerConfig, "padded", lambda _, n: n + -n % 8)
    assert jax.tree.leaves(net.init_cache())[0].shape[0] == 8
    longer = eqx.filter_jit(lambda tokens: step_by_step(net, tokens, CAPACITY - 1))
    np.testing.assert_allclose(longer(tokens), plain, atol=1e-5)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_a_rough_pass_differs_by_rounding_alone(bfloat16):
    net = random_transformer(dataclasses.replace(SMALL, bfloat16=bfloat16))
    tokens = jr.normal(jr.key(3), (CAPACITY, SMALL.width))
    added = jnp.bfloat16 if bfloat16 else jnp.float32
    with jax.numpy_dtype_promotion("standard"):  # which jax's attention needs
        whole = eqx.filter_jit(net)(tokens)
        rough = eqx.filter_jit(lambda tokens: net(tokens, is_rough=True))(tokens)
    assert rough.dtype == jnp.float32
    np.testing.assert_allclose(rough, whole, atol=8 * float(jnp.finfo(added).eps))
    assert np.any(rough != whole) == bfloat16


def plain(net, tokens):
    """The same function in numpy, straight from the definition."""
    config = net.config
    tokens = np.asarray(tokens, np.float64)
    params = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), net)

    def norm(layer, x):
        spread = np.sqrt(x.var(-1, keepdims=True) + layer.eps)
        return (x - x.mean(-1, keepdims=True)) / spread * layer.weight + layer.bias

    def apply(layer, x):
        return x @ layer.weight.T + (0.0 if layer.bias is None else layer.bias)

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    x = tokens + params.positions[: len(tokens)]
    group = config.num_heads // config.num_kv_heads
    for block in params.blocks:
        packed = apply(block.attend, norm(block.attention_norm, x))
        packed = packed.reshape(len(x), -1, config.head_size)
        query = packed[:, : config.num_heads]
        key = packed[:, config.num_heads : config.num_heads + config.num_kv_heads]
        value = packed[:, config.num_heads + config.num_kv_heads :]
        attended = np.zeros_like(query)
        for t in range(len(x)):
            for head in range(config.num_heads):
                scores = key[: t + 1, head // group] @ query[t, head]
                weights = np.exp(scores / np.sqrt(config.head_size))
                weights /= weights.sum()
                attended[t, head] = weights @ value[: t + 1, head // group]
        x = x + apply(block.project, attended.reshape(len(x), -1))
        hidden = gelu(apply(block.expand, norm(block.perceptron_norm, x)))
        x = x + apply(block.contract, hidden)
    return norm(params.final_norm, x)


CONFIGS = {
    "one head of keys": SMALL,
    "a head of keys each": dataclasses.replace(SMALL, num_kv_heads=3),
    "shared by groups": TransformerConfig(
        width=8, num_layers=1, num_heads=4, num_kv_heads=2
    ),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_both_passes_are_the_function_of_the_definition(config):
    net = random_transformer(config)
    tokens = jr.normal(jr.key(3), (CAPACITY, config.width))
    expected = plain(net, tokens)
    np.testing.assert_allclose(eqx.filter_jit(net)(tokens), expected, atol=2e-5)
    np.testing.assert_allclose(one_by_one(net, tokens, 6), expected, atol=2e-5)


@pytest.mark.slow
def test_in_bfloat16_the_passes_agree_up_to_rounding():
    config = dataclasses.replace(SMALL, bfloat16=True)
    net = random_transformer(config)
    tokens = jr.normal(jr.key(3), (CAPACITY, config.width))
    with jax.numpy_dtype_promotion("standard"):  # jax's own attention mixes dtypes
        whole = eqx.filter_jit(net)(tokens)
    assert whole.dtype == jnp.float32
    steps = one_by_one(in_compute_dtype(net), tokens, 6)
    # Features are of size 1 and bfloat16 has 8 bits: 0.004 for each rounding.
    np.testing.assert_allclose(steps, whole, atol=0.05)
    exact = plain(net, tokens)
    assert np.max(np.abs(exact - whole)) > 1e-4, "nothing was rounded"
    np.testing.assert_allclose(whole, exact, atol=0.1)


def test_later_tokens_do_not_change_earlier_features():
    net = eqx.filter_jit(random_transformer(SMALL))
    tokens = jr.normal(jr.key(3), (CAPACITY, SMALL.width))
    # Not by a constant, which the norms would take away again.
    other = jr.normal(jr.key(4), (SMALL.width,))
    before = net(tokens)
    for t in range(1, CAPACITY):
        changed = net(tokens.at[t].add(other))
        np.testing.assert_array_equal(changed[:t], before[:t])
        assert np.all(np.any(changed[t:] != before[t:], axis=1))


def test_a_tight_bound_of_the_position_changes_nothing():
    net = random_transformer(SMALL)
    tokens = jr.normal(jr.key(3), (3, SMALL.width))
    np.testing.assert_allclose(
        one_by_one(net, tokens, 2), one_by_one(net, tokens, 6), atol=1e-6
    )


def test_the_cache_is_read_no_further_than_the_position():
    net = random_transformer(SMALL)
    poisoned = jax.tree.map(lambda leaf: jnp.full_like(leaf, 1e6), net.init_cache())
    token = jr.normal(jr.key(3), (SMALL.width,))
    first = StepCount(jnp.zeros((), jnp.int32), bound=6)
    features, _ = eqx.filter_jit(net.step)(token, poisoned, first)
    expected = eqx.filter_jit(net)(token[None])[0]
    np.testing.assert_allclose(features, expected, atol=1e-5)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"width": 10, "num_heads": 4}, "num_heads must divide width 10; got 4"),
        (
            {"num_heads": 4, "num_kv_heads": 3},
            "num_kv_heads must divide num_heads 4; got 3",
        ),
        ({"num_layers": 0}, "num_layers must be at least 1; got 0"),
    ],
)
def test_impossible_sizes_are_refused(sizes, message):
    with pytest.raises(InvalidParameterError, match=message):
        TransformerConfig(**sizes)
