"""Generalized search on images: which class is it, seen through as few patches as
possible?"""

import dataclasses
import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, UInt8

from icpe.core.arrays import Index, PRNGKey
from icpe.core.checks import check_between
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.history import History
from icpe.core.spec import TaskSpec
from icpe.families.patches.augment import Distortion, distort
from icpe.families.patches.canvas import canvas_lines
from icpe.families.patches.images import (
    ImageSource,
    LabeledImages,
    Split,
    image_arrays,
    image_source,
    load_images,
)

_CASES_SEED = 0xCA5E5
"""Of the distortions of images that are counted once."""


class PatchTask(eqx.Module):
    """One image behind the mask, distorted and padded, and its class."""

    image: Float[Array, "height width"]
    label: Index


class Patches(AbstractTaskFamily):
    """Reveal an image patch by patch; which class does it show?

    The image is padded on all sides to whole patches, evenly, and distorted anew in
    every episode: turned, moved, bent, its contrast changed, noise added. A query
    reveals one patch: its pixels, row by row. A patch that is revealed is not asked
    for again unless `repeats` is set.

    With the split "train", operating tables are measured on the training images that
    are held back, and certificates and evaluations are about the test images, each
    distorted once and counted once.
    """

    images: str = parameter("mnist", "name of the images, or an .npz file of them")
    split: Split = parameter("train", "train, calibration or test images")
    patch_size: int = parameter(5, "rows and columns of a patch")
    horizon: int = parameter(
        0, "most queries in an episode; 0 means all patches", rare=True, at_least=0
    )
    repeats: bool = parameter(False, "let a patch be asked for again", rare=True)
    rotation: float = parameter(30.0, "largest turn, in degrees", rare=True)
    shift: float = parameter(2.0, "largest move along each axis, in pixels", rare=True)
    elastic: float = parameter(
        1.0, "root mean square of the bending, in pixels", rare=True
    )
    elastic_scale: float = parameter(
        4.0, "how smooth the bending is, in pixels", rare=True
    )
    contrast: float = parameter(0.3, "largest relative change of contrast", rare=True)
    noise: float = parameter(
        0.1, "standard deviation of the noise of each pixel", rare=True
    )
    in_memory: LabeledImages | None = eqx.field(default=None, metadata={"loaded": True})

    def __check_init__(self):
        check_ranges(self)
        source = self.source
        smallest = min(source.height, source.width)
        check_between("patch_size", self.patch_size, 1, smallest)
        if not self.repeats:
            check_between("horizon", self.horizon, 0, self.num_patches)
        _ = self.distortion

    @property
    def source(self) -> ImageSource:
        """Where the images come from."""
        return image_source(self.images)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        source, size = self.source, self.patch_size
        return -(-source.height // size), -(-source.width // size)

    @property
    def num_patches(self) -> int:
        """How many patches make up the image."""
        rows, columns = self.grid
        return rows * columns

    @property
    def distortion(self) -> Distortion:
        """What happens to an image in an episode."""
        return Distortion(
            rotation=self.rotation,
            shift=self.shift,
            elastic=self.elastic,
            elastic_scale=self.elastic_scale,
            contrast=self.contrast,
            noise=self.noise,
        )

    @property
    def spec(self) -> TaskSpec:
        """A query reveals a patch; the hypotheses are the classes."""
        rows, columns = self.grid
        num_pixels = self.patch_size**2
        names = self.source.class_names
        return TaskSpec(
            num_queries=self.num_patches,
            num_hypotheses=len(names),
            outcome_size=num_pixels,
            horizon=self.horizon or self.num_patches,
            outcome_shift=(0.5,) * num_pixels,
            outcome_scale=(0.5,) * num_pixels,
            ask_once=not self.repeats,
            reveals=False,
            may_end=False,
            query_names=tuple(
                f"row {row + 1}, column {column + 1}"
                for row in range(rows)
                for column in range(columns)
            ),
            hypothesis_names=names,
            outcome_names=tuple(f"pixel {i}" for i in range(num_pixels)),
            question="The patch at {query}: what are its pixels, from 0 to 1?",
            outcome_shape=(self.patch_size, self.patch_size),
            query_grid=(rows, columns),
        )

    def sample_task(self, *, key: PRNGKey) -> PatchTask:
        """Draws an image of the split and distorts it."""
        index_key, distortion_key = jr.split(key)
        data = self.in_memory
        if data is None:
            data = load_images(self.images, self.split)
        index = jr.randint(index_key, (), 0, len(data.labels))
        image, label = jnp.asarray(data.images)[index], jnp.asarray(data.labels)[index]
        return self.task_of(image, label, key=distortion_key)

    def task_of(
        self, image: UInt8[Array, "height width"], label: Index, *, key: PRNGKey
    ) -> PatchTask:
        """The task of one image, distorted."""
        padded = self.pad(image.astype(jnp.float32) / 255.0)
        return PatchTask(distort(padded, self.distortion, key=key), label)

    def pad(self, image: Float[Array, "height width"]) -> Float[Array, "rows columns"]:
        """The image with black borders that make it whole patches."""
        extra = [
            number * self.patch_size - size
            for number, size in zip(self.grid, image.shape, strict=True)
        ]
        return jnp.pad(image, [(e // 2, e - e // 2) for e in extra])

    def with_data(self) -> "Patches":
        """With the images of the split."""
        if self.in_memory is not None:
            return self
        arrays = image_arrays(self.images, self.split)
        return dataclasses.replace(self, in_memory=arrays)

    def calibration_cases(self) -> PatchTask | None:
        return self._cases("calibration")

    def held_out_cases(self) -> PatchTask | None:
        return self._cases("test")

    def _cases(self, split: Split) -> PatchTask | None:
        """All images of a split, where this one is learned from."""
        if self.split != "train":
            return None
        return _tasks_of(dataclasses.replace(self, split=split, in_memory=None))

    def reset(self, task: PatchTask, *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: PatchTask, *, key: PRNGKey
    ) -> StepResult:
        return plain_step(self.spec, self.cut(task.image)[query])

    def cut(
        self, image: Float[Array, "rows columns"]
    ) -> Float[Array, "patches pixels"]:
        """The patches of a padded image, row by row."""
        (rows, columns), size = self.grid, self.patch_size
        tiles = image.reshape(rows, size, columns, size).swapaxes(1, 2)
        return tiles.reshape(rows * columns, size * size)

    def hypothesis(self, task: PatchTask) -> Index:
        return task.label

    def episode_picture(self, history: History) -> tuple[str, ...]:
        """The patches seen so far."""
        return canvas_lines(history, self.grid, (self.patch_size, self.patch_size))


@ft.lru_cache(maxsize=4)
def _tasks_of(family: Patches) -> PatchTask:
    """Every image of the family's split, distorted once."""
    images, labels = image_arrays(family.images, family.split)
    keys = jr.split(jr.key(_CASES_SEED), len(labels))

    def task(image, label, key):
        return family.task_of(image, label, key=key)

    return jax.jit(jax.vmap(task))(images, labels, keys)
