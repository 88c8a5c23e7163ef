"""A small environment in plain Python: which of four doors hides a prize?"""

from typing import Any

import gymnasium
import numpy as np


class Doors(gymnasium.Env):
    """Looking behind a door tells whether the prize is there, mostly.

    The fifth action ends the episode. What is behind a door can be seen twice at most.
    """

    def __init__(self, noise: float = 0.0, raises_at: int = -1, says: bool = True):
        self.observation_space = gymnasium.spaces.Dict(
            {
                "seen": gymnasium.spaces.Discrete(2),
                "step": gymnasium.spaces.Box(0.0, 100.0, (1,), np.float32),
            }
        )
        self.action_space = gymnasium.spaces.Discrete(5)
        self._noise, self._raises_at, self._says = noise, raises_at, says
        self._steps_ever = 0

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        self.truth = int(self.np_random.integers(4))
        self._counts = np.zeros(4, int)
        self._steps = 0
        return self._look(0), self._info()

    def step(self, action: Any):
        self._steps += 1
        self._steps_ever += 1
        if self._raises_at >= 0 and self._steps_ever > self._raises_at:
            raise ValueError("the motor is stuck")
        if action == 4:
            return self._look(0), 0.0, True, False, self._info()
        self._counts[action] += 1
        lies = self.np_random.random() < self._noise
        seen = int((action == self.truth) != lies)
        return self._look(seen), 0.0, False, False, self._info()

    def _look(self, seen: int):
        return {"seen": seen, "step": np.array([self._steps], np.float32)}

    def _info(self) -> dict[str, Any]:
        mask = np.append(self._counts < 2, True).astype(np.int8)
        info: dict[str, Any] = {"action_mask": mask}
        return {**info, "hypothesis": self.truth} if self._says else info
