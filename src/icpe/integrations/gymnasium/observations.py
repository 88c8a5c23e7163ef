"""Observations of any space as numbers, and what these are called."""

import itertools
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from gymnasium.spaces.utils import flatdim, flatten


def numbers_of(space: Space, observation: Any) -> np.ndarray:
    """An observation as numbers, in the order of `gymnasium.spaces.flatten`."""
    flat: Any = flatten(space, observation)
    return np.asarray(flat, np.float32).reshape(-1)


def names_of(space: Space) -> tuple[str, ...]:
    """A name for each number of an observation that has several parts.

    Such as `beep[0]` for an entry of an array and `door=2` for a choice, of which one
    is 1. Empty where there are no parts, or their numbers are not known beforehand.
    """
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return ()
    names = tuple(_names(space, ""))
    try:
        size = flatdim(space)
    except (NotImplementedError, ValueError):
        return ()
    return names if len(names) == size else ()


def _names(space: Space, prefix: str) -> list[str]:
    if isinstance(space, spaces.Dict):
        dot = "." if prefix else ""
        each = [(f"{prefix}{dot}{key}", it) for key, it in space.spaces.items()]
    elif isinstance(space, spaces.Tuple):
        each = [(f"{prefix}[{i}]", it) for i, it in enumerate(space.spaces)]
    elif isinstance(space, spaces.Discrete):
        first = int(space.start)
        return [f"{prefix}={first + i}" for i in range(int(space.n))]
    elif isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec
        starts = np.broadcast_to(getattr(space, "start", 0), sizes.shape)
        return [
            f"{prefix}{_at(place)}={starts[place] + i}"
            for place in np.ndindex(sizes.shape)
            for i in range(int(sizes[place]))
        ]
    elif isinstance(space, spaces.Box | spaces.MultiBinary):
        return [f"{prefix}{_at(place)}" for place in np.ndindex(space.shape)]
    else:
        return []
    return list(itertools.chain(*(_names(it, name) for name, it in each)))


def _at(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]" if place else ""
