"""Environments side by side: one, or as many as a vectorized environment has.

A lane runs one episode at a time, from a reset with a seed of its own. What comes after
the end of an episode, which differs between the three modes in which vectorized
environments start the next one, is nobody's business here: a lane that has ended waits
for the next reset.
"""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

from icpe.core.host import SimulatorError
from icpe.integrations.gymnasium.actions import CountedActions


class Seen(NamedTuple):
    """What an environment showed: observation and info, and whether it has ended."""

    observation: Any
    info: dict[str, Any]
    ended: bool


class AbstractLanes(abc.ABC):
    """Episodes that are stepped together."""

    size: int
    observation_space: gymnasium.Space
    actions: CountedActions

    @abc.abstractmethod
    def reset(self, seeds: Sequence[int]) -> list[Seen]:
        """Starts an episode in every lane."""

    @abc.abstractmethod
    def step(self, actions: Sequence[int], ended: Sequence[bool]) -> list[Seen]:
        """One step of all lanes; what those that have ended show means nothing."""

    @abc.abstractmethod
    def close(self) -> None:
        """Releases what the environment holds."""


class OneLane(AbstractLanes):
    """An environment that is not vectorized."""

    size = 1

    def __init__(self, env: gymnasium.Env, name: str):
        self.env = env
        self.observation_space = env.observation_space
        self.actions = CountedActions(env.action_space, name)

    def reset(self, seeds: Sequence[int]) -> list[Seen]:
        observation, info = self.env.reset(seed=int(seeds[0]))
        return [Seen(observation, info, False)]

    def step(self, actions: Sequence[int], ended: Sequence[bool]) -> list[Seen]:
        found = self.env.step(self.actions.action(actions[0]))
        if len(found) != 5:
            raise SimulatorError(
                f"An environment returned {len(found)} values from step; since "
                "Gymnasium 0.26 there are five: observation, reward, terminated, "
                "truncated, info."
            )
        observation, _, terminated, truncated, info = found
        return [Seen(observation, info, bool(terminated or truncated))]

    def close(self) -> None:
        self.env.close()


class VectorLanes(AbstractLanes):
    """A vectorized environment, in any of the three modes of starting anew."""

    def __init__(self, env: VectorEnv, name: str):
        self.env = env
        self.size = env.num_envs
        self.observation_space = env.single_observation_space
        self.actions = CountedActions(env.single_action_space, name)
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._mode = AutoresetMode(mode)

    def reset(self, seeds: Sequence[int]) -> list[Seen]:
        each: Any = [int(seed) for seed in seeds]
        observations, infos = self.env.reset(seed=each)
        return self._seen(observations, infos, np.zeros(self.size, bool))

    def step(self, actions: Sequence[int], ended: Sequence[bool]) -> list[Seen]:
        if self._mode is AutoresetMode.DISABLED and any(ended):
            self.env.reset(options={"reset_mask": np.asarray(ended, bool)})
        dtype = self.env.action_space.dtype
        made = [self.actions.action(query) for query in actions]
        found = self.env.step(np.asarray(made, dtype))
        observations, _, terminated, truncated, infos = found
        over = np.asarray(terminated) | np.asarray(truncated)
        seen = self._seen(observations, infos, over)
        if self._mode is not AutoresetMode.SAME_STEP:
            return seen
        last = infos.get("final_info", {})
        return [
            Seen(infos["final_obs"][lane], _of_lane(last, lane), True)
            if over[lane]
            else seen[lane]
            for lane in range(self.size)
        ]

    def close(self) -> None:
        self.env.close()

    def _seen(self, observations, infos, ended) -> list[Seen]:
        each = iterate(self.env.observation_space, observations)
        return [
            Seen(observation, _of_lane(infos, lane), bool(ended[lane]))
            for lane, observation in enumerate(each)
        ]


def _of_lane(infos: dict[str, Any], lane: int) -> dict[str, Any]:
    """The info of one lane, of those whose entries it has."""
    found = {}
    for name, values in infos.items():
        if name.startswith("_") or name in ("final_obs", "final_info"):
            continue
        has = infos.get(f"_{name}")
        if has is None or has[lane]:
            found[name] = values[lane]
    return found
