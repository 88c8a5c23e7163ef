"""Convolutions over one small picture, as matrix products.

Networks are held in stacks and vmapped (`SequenceNet`), which turns a convolution
primitive into a grouped one, slow on every device; a matrix product of windows stays
a batched matrix product.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.nets.linear import Linear, precision_of

Picture = Float[Array, "_ _ _"]
"""Rows, columns, channels; each function says what becomes of them."""
_NARROW = 128
"""Numbers in a row of the result up to which whole rows are multiplied at once."""


class Convolution(eqx.Module):
    """3x3 windows, zero padding, stride 1."""

    layer: Linear

    def __init__(self, in_channels: int, out_channels: int, *, key: PRNGKey):
        gain = math.sqrt(2.0)
        self.layer = Linear(9 * in_channels, out_channels, gain=gain, key=key)

    def __call__(self, x: Picture, dtype=jnp.float32) -> Picture:
        """The layer at every window, with factors and result in one dtype."""
        if x.shape[1] * self.layer.weight.shape[0] <= _NARROW:
            return self._by_rows(x.astype(dtype))
        apply = jax.vmap(
            jax.vmap(lambda window: self.layer.rounded(window, dtype, dtype))
        )
        return apply(windows(x.astype(dtype)))

    def _by_rows(self, x: Picture) -> Picture:
        """The same, by a product of every three rows with a banded matrix.

        In a narrow picture of few channels, windows take longer to collect than to
        multiply; rows lie in memory as they are.
        """
        rows, columns, channels = x.shape
        weight, bias = self.layer.weight.astype(x.dtype), self.layer.bias
        weight = weight.reshape(-1, 3, 3, channels)
        shifts = np.stack([np.eye(columns, k=1 - j) for j in range(3)])
        band = jnp.einsum("jab,oijc->iacbo", jnp.asarray(shifts, x.dtype), weight)
        padded = jnp.pad(x, ((1, 1), (0, 0), (0, 0))).reshape(rows + 2, -1)
        three = jnp.concatenate([padded[i : i + rows] for i in range(3)], axis=-1)
        product = jnp.matmul(
            three,
            band.reshape(three.shape[1], -1),
            preferred_element_type=x.dtype,
            precision=precision_of(x.dtype),
        )
        assert bias is not None
        return product.reshape(rows, columns, -1) + bias.astype(x.dtype)[None, None]


class ConvolutionStack(eqx.Module):
    """Blocks of convolution, pooling and GELU, each with twice the channels."""

    layers: tuple[Convolution, ...]
    num_pools: int = eqx.field(static=True)
    bfloat16: bool = eqx.field(static=True)

    def __init__(
        self,
        in_channels: int,
        channels: int,
        num_layers: int,
        *,
        num_pools: int,
        bfloat16: bool = False,
        key: PRNGKey,
    ):
        """Only the first `num_pools` blocks halve the sides of the picture."""
        sizes = [in_channels, *(channels * 2**i for i in range(num_layers))]
        self.layers = tuple(
            Convolution(before, after, key=layer_key)
            for before, after, layer_key in zip(
                sizes[:-1], sizes[1:], jr.split(key, num_layers), strict=True
            )
        )
        self.num_pools = num_pools
        self.bfloat16 = bfloat16

    def __call__(self, x: Picture) -> Picture:
        """The picture after all blocks."""
        dtype = jnp.bfloat16 if self.bfloat16 else jnp.float32
        for i, layer in enumerate(self.layers):
            x = layer(x, dtype)
            x = jax.nn.gelu(pool(x) if i < self.num_pools else x)
        return x

    def out_shape(self, rows: int, columns: int) -> tuple[int, int, int]:
        """Rows, columns and channels of what comes out for a picture of this size."""
        for _ in range(self.num_pools):
            rows, columns = -(-rows // 2), -(-columns // 2)
        return rows, columns, self.layers[-1].layer.weight.shape[-2]


def windows(
    x: Float[Array, "rows columns channels"],
) -> Float[Array, "rows columns 9*channels"]:
    """The 3x3 neighborhood of every pixel, zeros outside the picture."""
    rows, columns, _ = x.shape
    padded = jnp.pad(x, ((1, 1), (1, 1), (0, 0)))
    shifted = [
        padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3)
    ]
    return jnp.concatenate(shifted, axis=-1)


def pool(x: Picture) -> Picture:
    """The largest of every 2x2 pixels; an odd last row or column stands alone."""
    rows, columns, channels = x.shape
    x = jnp.pad(x, ((0, rows % 2), (0, columns % 2), (0, 0)), constant_values=-jnp.inf)
    blocks = x.reshape(-(-rows // 2), 2, -(-columns // 2), 2 * channels)
    larger = jnp.maximum(blocks[:, 0], blocks[:, 1])
    return jnp.maximum(larger[..., :channels], larger[..., channels:])


def fold(x: Picture) -> Picture:
    """Every 2x2 pixels as one pixel with four times the channels."""
    rows, columns, channels = x.shape
    x = jnp.pad(x, ((0, rows % 2), (0, columns % 2), (0, 0)))
    rows, columns = -(-rows // 2), -(-columns // 2)
    blocks = x.reshape(rows, 2, columns, 2, channels).swapaxes(1, 2)
    return blocks.reshape(rows, columns, 4 * channels)
