"""Networks on one whole picture: a classifier, and one that sees it partly masked."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey, Scalar
from icpe.nets.canvas import assemble
from icpe.nets.convolution import ConvolutionStack
from icpe.nets.linear import Linear
from icpe.nets.tokens import Summary

_LEAST_KEPT = 0.05
"""Dropout keeps at least this share, so that its correction stays finite."""


class PictureClassifier(eqx.Module):
    """Three convolutions with pooling, two linear layers: logits of the classes."""

    stack: ConvolutionStack
    hidden: Linear
    head: Linear

    def __init__(
        self,
        shape: tuple[int, int],
        num_classes: int,
        *,
        channels: int = 32,
        width: int = 256,
        bfloat16: bool = False,
        key: PRNGKey,
    ):
        stack_key, hidden_key, head_key = jr.split(key, 3)
        self.stack = ConvolutionStack(
            1, channels, 3, num_pools=3, bfloat16=bfloat16, key=stack_key
        )
        flat_size = math.prod(self.stack.out_shape(*shape))
        self.hidden = Linear(flat_size, width, gain=math.sqrt(2), key=hidden_key)
        self.head = Linear(width, num_classes, gain=0.1, key=head_key)

    def __call__(
        self,
        picture: Float[Array, "rows columns"],
        *,
        dropout: float = 0.0,
        key: PRNGKey | None = None,
    ) -> Float[Array, "classes"]:
        """Logits; with a key, the inputs of both linear layers are dropped out."""
        keys = (None, None) if key is None else tuple(jr.split(key))
        rate = jnp.asarray(dropout)
        x = self.stack(picture[..., None]).reshape(-1).astype(jnp.float32)
        x = jax.nn.gelu(self.hidden(drop(x, rate / 2, key=keys[0])))
        return self.head(drop(x, rate, key=keys[1]))


class MaskedPictureNet(eqx.Module):
    """A number for each output, from the picture seen so far and how often each tile
    was asked for.

    As in the paper: convolutions over the masked picture; counts through a linear
    layer with ReLU and LayerNorm; both concatenated and read by two residual layers.
    Unlike it, the features are flattened and not averaged over the picture, since it
    matters where they are, and the mask is a channel of the picture.
    """

    stack: ConvolutionStack
    counts_embedding: Linear
    counts_norm: eqx.nn.LayerNorm
    project: Linear
    residual: tuple[Linear, Linear]
    head: Linear
    grid: tuple[int, int] = eqx.field(static=True)
    tile: tuple[int, int] = eqx.field(static=True)

    def __init__(
        self,
        grid: tuple[int, int],
        tile: tuple[int, int],
        num_outputs: int,
        *,
        channels: int = 16,
        width: int = 256,
        bfloat16: bool = False,
        key: PRNGKey,
    ):
        keys = jr.split(key, 6)
        self.stack = ConvolutionStack(
            2, channels, 3, num_pools=3, bfloat16=bfloat16, key=keys[0]
        )
        num_tiles = grid[0] * grid[1]
        self.counts_embedding = Linear(num_tiles, 32, key=keys[1])
        self.counts_norm = eqx.nn.LayerNorm(32)
        flat = math.prod(self.stack.out_shape(grid[0] * tile[0], grid[1] * tile[1]))
        self.project = Linear(flat + 32, width, key=keys[2])
        self.residual = (
            Linear(width, width, key=keys[3]),
            Linear(width, width, key=keys[4]),
        )
        self.head = Linear(width, num_outputs, gain=0.1, key=keys[5])
        self.grid = grid
        self.tile = tile

    def __call__(
        self,
        seen: Summary,
        *,
        dropout: Scalar | None = None,
        key: PRNGKey | None = None,
    ) -> Float[Array, "outputs"]:
        """Outputs; with a key, every hidden layer is dropped out at the given rate."""
        rate = jnp.zeros(()) if dropout is None else dropout
        keys = (None,) * 3 if key is None else tuple(jr.split(key, 3))
        masked = jnp.stack(
            [
                seen_picture(seen, self.grid, self.tile),
                _spread(jnp.minimum(seen.counts, 1.0), self.grid, self.tile),
            ],
            axis=-1,
        )
        features = self.stack(masked).reshape(-1).astype(jnp.float32)
        counts = self.counts_norm(jax.nn.relu(self.counts_embedding(seen.counts)))
        x = jax.nn.gelu(self.project(jnp.concatenate([features, counts])))
        x = drop(x, rate, key=keys[0])
        for layer, layer_key in zip(self.residual, keys[1:], strict=True):
            x = x + drop(jax.nn.gelu(layer(x)), rate, key=layer_key)
        return self.head(x)


def seen_picture(
    seen: Summary, grid: tuple[int, int], tile: tuple[int, int]
) -> Float[Array, "rows columns"]:
    """The picture with its hidden tiles black; `seen` holds raw outcomes."""
    means = seen.sums / jnp.maximum(seen.counts, 1.0)[:, None]
    return assemble(means, grid, tile)


def drop(
    x: Float[Array, "features"], rate: Scalar, *, key: PRNGKey | None
) -> Float[Array, "features"]:
    """Dropout (Srivastava et al. 2014); without a key, nothing happens."""
    if key is None:
        return x
    kept = jnp.maximum(1.0 - rate, _LEAST_KEPT)
    return jnp.where(jr.bernoulli(key, kept, x.shape), x / kept, 0.0)


def _spread(
    values: Float[Array, "tiles"], grid: tuple[int, int], tile: tuple[int, int]
) -> Float[Array, "rows columns"]:
    size = tile[0] * tile[1]
    return assemble(jnp.broadcast_to(values[:, None], (values.size, size)), grid, tile)
