"""Digits drawn by a program, in the size of MNIST: images that need no download.

Each is one of ten small bitmaps, magnified, slanted and thickened at random. They are
easier than handwriting, and are meant for tests, examples and first steps.
"""

import numpy as np

from icpe.families.patches.images import ImageSource, LabeledImages, Split

SIZE = 28
_NUMBERS = {"train": 2000, "test": 500}
_SEEDS = {"train": 0, "test": 1}
_GLYPHS = """
01110 00100 01110 11110 00010 11111 00110 11111 01110 01110
10001 01100 10001 00001 00110 10000 01000 00001 10001 10001
10011 00100 00001 00001 01010 11110 10000 00010 10001 10001
10101 00100 00010 01110 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 00100 10001 00001
10001 00100 01000 00001 00010 10001 10001 01000 10001 00010
01110 01110 11111 11110 00010 01110 01110 01000 01110 01100
"""


def drawn_digits_source() -> ImageSource:
    """28x28 digits: 2,000 to train on, 500 to test with."""
    return ImageSource(SIZE, SIZE, tuple("0123456789"), draw_digits)


def draw_digits(split: Split) -> LabeledImages:
    """Draws one split; the same images every time."""
    # The legacy generator of numpy is frozen, so these images never change.
    random = np.random.RandomState(_SEEDS[split])
    number = _NUMBERS[split]
    labels = np.arange(number, dtype=np.int32) % 10
    glyphs = _glyphs()
    images = np.stack([_draw(glyphs[label], random) for label in labels])
    return LabeledImages(np.round(255 * images).astype(np.uint8), labels)


def _glyphs() -> np.ndarray:
    rows = [line.split() for line in _GLYPHS.split("\n") if line]
    dots = np.array([[[float(dot) for dot in part] for part in row] for row in rows])
    return np.moveaxis(dots, 1, 0)


def _draw(glyph: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Samples a slanted, magnified bitmap: each pixel from its nearest ink."""
    height, width = glyph.shape
    scale = random.uniform(2.5, 3.1)
    slant = random.uniform(-0.25, 0.25)
    thickness = random.uniform(0.55, 0.85)
    rows, columns = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    y = rows / scale + (height - 1) / 2
    x = (columns + slant * rows) / scale + (width - 1) / 2
    ink_y, ink_x = np.nonzero(glyph)
    gap = np.hypot(y[..., None] - ink_y, x[..., None] - ink_x).min(axis=-1)
    return np.clip(1.5 - gap / thickness, 0.0, 1.0)
