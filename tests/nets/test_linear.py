"""The linear layer and its precision."""

import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.nets.linear import Linear, product_summed_in_parts


def test_a_layer_keeps_the_scale_of_its_input():
    layer = Linear(400, 300, gain=0.5, key=jr.key(0))
    np.testing.assert_array_equal(layer.bias, 0.0)
    # The standard deviation of 120,000 weights is off by more than 1 % with
    # probability 1e-6.
    assert np.std(layer.weight) * 20 == pytest.approx(0.5, rel=0.01)


def test_the_factors_are_rounded_and_the_sum_is_not():
    layer = Linear(3, 2, key=jr.key(0))
    x = jnp.asarray([1.001, 2.002, -3.003])
    exact = np.asarray(layer.weight) @ np.asarray(x)
    np.testing.assert_allclose(layer(x), exact, rtol=1e-5)
    rounded = np.asarray(layer.weight.astype(jnp.bfloat16), np.float32) @ np.asarray(
        x.astype(jnp.bfloat16), np.float32
    )
    found = layer.rounded(x, jnp.bfloat16, jnp.float32)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, rounded, rtol=1e-5)
    assert np.all(np.abs(found - exact) > 1e-5)


def test_gradients_of_rounded_layers_are_summed_in_full_precision():
    """2,000 terms near 1: in bfloat16 a sum of them stops at 256."""
    layer = Linear(1, 1, key=jr.key(0))

    def total(layer):
        rounded = ft.partial(layer.rounded, dtype=jnp.bfloat16, out_dtype=jnp.bfloat16)
        return jnp.sum(jax.vmap(rounded)(jnp.ones((2000, 1))).astype(jnp.float32))

    jaxpr = jax.make_jaxpr(jax.grad(total))(layer)
    summed = [
        equation.outvars[0].aval.dtype
        for equation in jaxpr.eqns
        if equation.primitive.name == "reduce_sum"
    ]
    assert summed and all(dtype == jnp.float32 for dtype in summed)
    assert jax.grad(total)(layer).bias[0] == 2000.0


def test_a_product_summed_in_parts_is_exact_and_its_gradient_nearly_so():
    x = jr.normal(jr.key(0), (6, 50, 5))
    matrix = jr.normal(jr.key(1), (5, 4))

    def loss(product, matrix):
        return jnp.sum(jnp.sin(jax.vmap(product, (0, None))(x, matrix)))

    exact = ft.partial(jnp.matmul, precision="highest")
    assert loss(product_summed_in_parts, matrix) == loss(exact, matrix)
    rough = jax.grad(ft.partial(loss, product_summed_in_parts))(matrix)
    true = jax.grad(ft.partial(loss, exact))(matrix)
    # Each of 300 terms is rounded by at most 2^-8 of its size.
    largest = 2**-8 * jnp.sum(jnp.abs(x), axis=(0, 1))[:, None]
    assert np.all(np.abs(rough - true) <= largest)
    assert np.abs(rough - true).max() > 0
