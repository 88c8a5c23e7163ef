"""Actions of a space, counted from 0: these are the queries."""

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from icpe.core.errors import InvalidParameterError

_MOST = 2**16


class CountedActions:
    """The actions of a finite space in order.

    Those of `MultiDiscrete` and `MultiBinary` are all combinations, the last entry
    changing fastest.

    Args:
        space: whose actions they are.
        name: of the environment, for people.

    Raises:
        InvalidParameterError: the space is not finite, or very large.
    """

    def __init__(self, space: gymnasium.Space, name: str):
        self._space = space
        self._sizes: tuple[int, ...] = ()
        if isinstance(space, spaces.Discrete):
            self.number = int(space.n)
        elif isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
            binary = isinstance(space, spaces.MultiBinary)
            nvec = np.full(space.shape, 2) if binary else space.nvec
            self._sizes = tuple(int(it) for it in np.asarray(nvec).reshape(-1))
            self.number = math.prod(self._sizes)
        else:
            raise InvalidParameterError(
                f"The actions of {name} must be a Discrete space (or MultiDiscrete, or "
                f"MultiBinary); they are {space}; wrap it so that each query is one "
                "number."
            )
        if self.number > _MOST:
            raise InvalidParameterError(
                f"{name} has {self.number} actions; there may be at most {_MOST}."
            )

    def action(self, query: int) -> Any:
        """The action that a query is."""
        space: Any = self._space
        if not self._sizes:
            return space.dtype.type(query + space.start)
        entries = np.array(np.unravel_index(query, self._sizes), space.dtype)
        entries = entries.reshape(space.shape)
        return entries + np.asarray(getattr(space, "start", 0), space.dtype)
