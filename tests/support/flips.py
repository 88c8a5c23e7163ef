"""Single bits of whole files flipped at random."""

import random

NUM_FLIPS = 1000


def flipped(content: bytes, draw: random.Random) -> bytes:
    """The same with one random bit changed."""
    changed = bytearray(content)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def count_altered(path, read, draw):
    """How many flips are refused, and how many are accepted with another meaning."""
    whole, content = path.read_bytes(), read(path)
    refused = altered = 0
    for _ in range(NUM_FLIPS):
        path.write_bytes(flipped(whole, draw))
        try:
            found = read(path)
        except (ValueError, OSError):
            refused += 1
            continue
        same = found.document == content.document and set(found.arrays) == set(
            content.arrays
        )
        altered += not same or any(
            array.dtype != content.arrays[name].dtype
            or array.tobytes() != content.arrays[name].tobytes()
            for name, array in found.arrays.items()
        )
    return refused, altered
