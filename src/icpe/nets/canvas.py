"""The picture seen so far: patches where they were revealed, and which were.

Where queries are the tiles of a picture (`TaskSpec.query_grid`), the summary of a
history, its counts and mean outcomes, is that picture; a convolutional network reads
it better than a linear map.
"""

import abc
import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.nets.convolution import ConvolutionStack, fold
from icpe.nets.linear import Linear


class AbstractSummaryEncoder(eqx.Module):
    """Maps the features of a `Summary` to a vector of the Transformer's width."""

    @abc.abstractmethod
    def __call__(self, features: Float[Array, "features"]) -> Float[Array, "width"]:
        """The summary's share of the token."""


class CanvasEncoder(AbstractSummaryEncoder):
    """Convolutions over the picture seen so far, then a linear map.

    The picture has two channels, mean pixels and counts; pixels are folded 2x2 first,
    which costs little accuracy and makes it several times cheaper.
    """

    stack: ConvolutionStack
    project: Linear
    grid: tuple[int, int] = eqx.field(static=True)
    tile: tuple[int, int] = eqx.field(static=True)

    def __init__(
        self,
        grid: tuple[int, int],
        tile: tuple[int, int],
        width: int,
        *,
        bfloat16: bool,
        key: PRNGKey,
    ):
        stack_key, project_key = jr.split(key)
        self.stack = ConvolutionStack(
            8, max(4, width // 4), 3, num_pools=2, bfloat16=bfloat16, key=stack_key
        )
        sides = (-(-(g * t) // 2) for g, t in zip(grid, tile, strict=True))
        flat_size = math.prod(self.stack.out_shape(*sides))
        self.project = Linear(flat_size, width, key=project_key)
        self.grid = grid
        self.tile = tile

    def __call__(self, features: Float[Array, "features"]) -> Float[Array, "width"]:
        """Reads counts and mean pixels of all tiles."""
        num_tiles = self.grid[0] * self.grid[1]
        counts, means = jnp.split(features, [num_tiles])
        tiles = means.reshape(num_tiles, -1)
        seen = jnp.broadcast_to(counts[:, None], tiles.shape)
        picture = jnp.stack(
            [assemble(part, self.grid, self.tile) for part in (tiles, seen)], axis=-1
        )
        features = self.stack(fold(picture)).reshape(-1)
        return self.project.rounded(features, features.dtype, jnp.float32)


def assemble(
    tiles: Float[Array, "tiles pixels"], grid: tuple[int, int], tile: tuple[int, int]
) -> Float[Array, "rows columns"]:
    """Lays tiles side by side, row by row."""
    placed = tiles.reshape(*grid, *tile).swapaxes(1, 2)
    return placed.reshape(grid[0] * tile[0], grid[1] * tile[1])
