"""A digit of MNIST as a file, as a person would load it into the page."""

import struct
import zlib
from pathlib import Path

import jax.random as jr
import numpy as np

from icpe import zoo


def digit_picture(path: Path) -> int:
    """Writes a digit to a PNG file, and says which it is."""
    family = zoo.load("digits").family.with_data()
    task = family.sample_task(key=jr.key(5))
    write_gray_png(np.asarray(task.image), path)
    return int(task.label)


def write_gray_png(image, path):
    """A picture with 8 bits a pixel, as any program writes it."""
    gray = (np.clip(image, 0, 1) * 255).round().astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in gray)
    head = struct.pack(">IIBBBBB", gray.shape[1], gray.shape[0], 8, 0, 0, 0, 0)

    def chunk(kind, body):
        sealed = kind + body
        return (
            struct.pack(">I", len(body))
            + sealed
            + struct.pack(">I", zlib.crc32(sealed))
        )

    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
