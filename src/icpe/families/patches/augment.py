"""Random distortions of one image, to be vmapped and compiled with the episode.

Each image is turned, moved and bent by one resampling, its contrast is changed, and
noise is added. Pixels are in [0, 1] before and after.
"""

import dataclasses
import math

import jax.numpy as jnp
import jax.random as jr
from jax.scipy.ndimage import map_coordinates
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.checks import check_at_least, check_between, check_positive

Image = Float[Array, "height width"]


@dataclasses.dataclass(frozen=True)
class Distortion:
    """How strongly images are distorted; all zero leaves them alone.

    Attributes:
        rotation: largest angle in degrees, uniform in both directions.
        shift: largest move in pixels along each axis, uniform in both directions.
        elastic: root mean square length of the random displacements that bend the
            image, in pixels (Simard, Steinkraus and Platt 2003).
        elastic_scale: standard deviation of the Gaussian that smooths it, in pixels.
        contrast: largest relative change of the distance of pixels from their mean.
        noise: standard deviation of the noise of each pixel.
    """

    rotation: float = 30.0
    shift: float = 2.0
    elastic: float = 1.0
    elastic_scale: float = 4.0
    contrast: float = 0.3
    noise: float = 0.1

    def __post_init__(self):
        check_between("rotation", self.rotation, 0.0, 180.0)
        for name in ("shift", "elastic", "noise"):
            check_at_least(name, getattr(self, name), 0.0)
        check_positive("elastic_scale", self.elastic_scale)
        check_between("contrast", self.contrast, 0.0, 1.0)

    @property
    def moves_pixels(self) -> bool:
        """Whether any pixel may come from another place."""
        return bool(self.rotation or self.shift or self.elastic)


def distort(image: Image, distortion: Distortion, *, key: PRNGKey) -> Image:
    """One random distortion of an image."""
    place_key, bend_key, contrast_key, noise_key = jr.split(key, 4)
    if distortion.moves_pixels:
        image = _moved(image, distortion, place_key, bend_key)
    if distortion.contrast:
        change = jr.uniform(contrast_key, (), minval=-1.0, maxval=1.0)
        mean = jnp.mean(image)
        image = mean + (1.0 + distortion.contrast * change) * (image - mean)
    if distortion.noise:
        image = image + distortion.noise * jr.normal(noise_key, image.shape)
    return jnp.clip(image, 0.0, 1.0)


def _moved(
    image: Image, distortion: Distortion, place_key: PRNGKey, bend_key: PRNGKey
) -> Image:
    """Turned, moved and bent by one resampling."""
    source = placement(image.shape, distortion, key=place_key)
    if distortion.elastic:
        along_each_axis = distortion.elastic / math.sqrt(2)
        source = source + along_each_axis * smooth_noise(
            image.shape, distortion.elastic_scale, key=bend_key
        )
    return map_coordinates(image, list(source), order=1, mode="constant", cval=0.0)


def placement(
    shape: tuple[int, ...], distortion: Distortion, *, key: PRNGKey
) -> Float[Array, "2 height width"]:
    """Where each pixel of the turned and moved image comes from."""
    turn_key, shift_key = jr.split(key)
    angle = math.radians(distortion.rotation) * jr.uniform(
        turn_key, (), minval=-1.0, maxval=1.0
    )
    shift = distortion.shift * jr.uniform(shift_key, (2,), minval=-1.0, maxval=1.0)
    height, width = shape
    middle = (height - 1) / 2, (width - 1) / 2
    rows = jnp.broadcast_to(jnp.arange(1.0 * height)[:, None] - middle[0], shape)
    columns = jnp.broadcast_to(jnp.arange(1.0 * width)[None, :] - middle[1], shape)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack(
        [
            cos * rows - sin * columns + middle[0] + shift[0],
            sin * rows + cos * columns + middle[1] + shift[1],
        ]
    )


def smooth_noise(
    shape: tuple[int, ...], scale: float, *, key: PRNGKey
) -> Float[Array, "2 height width"]:
    """Two random fields of mean 0 and variance 1 at every pixel, smooth over `scale`.

    White noise is smoothed along both axes by a Gaussian that is cut at the border;
    its weights have unit sum of squares, which keeps the variance.
    """
    noise = jr.normal(key, (2, *shape))
    rows, columns = (_smoother(size, scale) for size in shape)
    return jnp.einsum("ij,cjk,lk->cil", rows, noise, columns, precision="highest")


def _smoother(size: int, scale: float) -> Float[Array, "size size"]:
    position = jnp.arange(1.0 * size) / scale
    gap = position[:, None] - position[None, :]
    weights = jnp.exp(-jnp.square(gap) / 2)
    norms = jnp.sqrt(jnp.sum(jnp.square(weights), axis=1))
    return weights / norms[:, None]
