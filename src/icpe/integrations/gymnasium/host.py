"""Episodes of an environment as a pure function of seed and queries.

A compiled program may call the host as often and in whatever order it likes, so what it
is told must depend on its arguments alone. An environment, though, has a state that
moves. Here the outcome after some queries is a function of the seed of the episode and
of these queries. In most calls the episode goes on where it stood: then one lane makes
one step. Where it does not, a lane starts anew with the same seed and makes all steps
again, for which the environment must keep to its seed, as Gymnasium asks of it.
"""

import collections
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from icpe.core.errors import IcpeError
from icpe.core.host import SimulatorError, keep_failure
from icpe.integrations.gymnasium.lanes import AbstractLanes, Seen
from icpe.integrations.gymnasium.observations import numbers_of

ArrayLike = Any
Episode = tuple[int, bytes]
"""The seed, and the queries so far as bytes of int32."""

_WORD = 4


class Told(NamedTuple):
    """What the family answers."""

    outcome: np.ndarray
    query_mask: np.ndarray
    ended: bool


class _Place(NamedTuple):
    group: "_Group"
    lane: int


class _Group:
    """Lanes that move together, and where each of them stands."""

    def __init__(self, lanes: AbstractLanes):
        self.lanes = lanes
        self.at: list[Episode | None] = [None] * lanes.size
        self.ended = [False] * lanes.size


class HostWorld:
    """All episodes of an environment.

    Args:
        make: makes another environment, or several side by side.
        name: of the environment, for people.
        num_queries: the first actions, which are queries.
        num_hypotheses: how many answers there are.
        outcome_size: numbers in an observation; as many as the first has, if None.
        most_lanes: how many episodes may be under way; more of them start anew.
        most_kept: how many answers are remembered.
    """

    def __init__(
        self,
        make: Callable[[], AbstractLanes],
        name: str,
        num_queries: int,
        num_hypotheses: int,
        *,
        outcome_size: int | None = None,
        most_lanes: int = 4096,
        most_kept: int = 500_000,
    ):
        self._make, self._name = make, name
        self._num_queries, self._num_hypotheses = num_queries, num_hypotheses
        self._outcome_size = outcome_size
        self._most_lanes, self._most_kept = most_lanes, most_kept
        self._groups: collections.OrderedDict[int, _Group] = collections.OrderedDict()
        self._places: dict[Episode, _Place] = {}
        self._told: collections.OrderedDict[Episode, Told] = collections.OrderedDict()
        self._truths: dict[int, int] = {}
        self._lock = threading.RLock()
        self.num_steps = 0
        self.says_masks = False

    def hypotheses(self, seeds: ArrayLike) -> np.ndarray:
        """The true answer of the episode of each seed."""
        with self._lock, self._complaining():
            flat = [int(seed) for seed in np.asarray(seeds).reshape(-1)]
            missing = [(seed, b"") for seed in dict.fromkeys(flat)]
            self._find([it for it in missing if it[0] not in self._truths])
            truths = [self._truths[seed] for seed in flat]
            return np.asarray(truths, np.int32).reshape(np.shape(seeds))

    def look(
        self, seeds: ArrayLike, queries: ArrayLike, steps: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outcome, allowed queries and end after the first `steps` of the queries."""
        with self._lock, self._complaining():
            seeds, steps = np.asarray(seeds), np.asarray(steps)
            shape = seeds.shape
            rows = np.asarray(queries, np.int32).reshape(-1, np.shape(queries)[-1])
            episodes = [
                (int(seed), row[:count].tobytes())
                for seed, row, count in zip(
                    seeds.reshape(-1), rows, steps.reshape(-1), strict=True
                )
            ]
            found = self._find(episodes)
            told = [found[episode] for episode in episodes]
            outcome = np.stack([it.outcome for it in told])
            mask = np.stack([it.query_mask for it in told])
            ended = np.asarray([it.ended for it in told])
            return (
                outcome.reshape(*shape, -1),
                mask.reshape(*shape, -1),
                ended.reshape(shape),
            )

    def _find(self, episodes: Iterable[Episode]) -> dict[Episode, Told]:
        """What is told after each: remembered, one step on, or from the start."""
        found: dict[Episode, Told] = {}
        onward: dict[int, dict[int, Episode]] = {}
        anew: list[Episode] = []
        for episode in dict.fromkeys(episodes):
            if (told := self._told.get(episode)) is not None:
                found[episode] = told
                continue
            place = self._places.get((episode[0], episode[1][:-_WORD]))
            taken = onward.setdefault(id(place.group), {}) if place else {}
            if place is None or not episode[1] or place.lane in taken:
                anew.append(episode)
            else:
                taken[place.lane] = episode
        for group_id, wanted in onward.items():
            if wanted:
                found |= self._advance(self._groups[group_id], wanted)
        while anew:
            group = self._free_group()
            part, anew = anew[: group.lanes.size], anew[group.lanes.size :]
            found |= self._replay(group, part)
        return found

    def _advance(self, group: _Group, wanted: dict[int, Episode]) -> dict:
        """One step of a group; lanes that nobody asked for are lost by it."""
        self._groups.move_to_end(id(group))
        size = group.lanes.size
        actions = [0] * size
        for lane, episode in wanted.items():
            actions[lane] = int(np.frombuffer(episode[1][-_WORD:], np.int32)[0])
        before = list(group.ended)
        seen = group.lanes.step(actions, before)
        self.num_steps += len(wanted)
        found = {}
        for lane in range(size):
            self._leave(group, lane)
            episode = wanted.get(lane)
            if episode is None:
                group.ended[lane] = before[lane] or seen[lane].ended
                continue
            if before[lane]:  # nothing comes after the end
                told = self._told_before(episode)
            else:
                told = self._read(seen[lane])
            group.ended[lane] = told.ended
            self._stand(group, lane, episode, told)
            found[episode] = told
        return found

    def _replay(self, group: _Group, episodes: list[Episode]) -> dict[Episode, Told]:
        """Starts episodes anew in a group, and makes all their steps again."""
        size = group.lanes.size
        filled = episodes + episodes[:1] * (size - len(episodes))
        for lane in range(size):
            self._leave(group, lane)
        seen = group.lanes.reset([seed for seed, _ in filled])
        group.ended = [False] * size
        last = [self._read(it) for it in seen]
        for episode, it in zip(episodes, seen, strict=False):
            self._truths[episode[0]] = self._truth(it)
        most = max(len(queries) for _, queries in episodes)
        found = {it: last[lane] for lane, it in enumerate(episodes) if not it[1]}
        for start in range(0, most, _WORD):
            actions = [
                int(np.frombuffer(q[start : start + _WORD], np.int32)[0])
                if start < len(q) and not group.ended[lane]
                else 0
                for lane, (_, q) in enumerate(filled)
            ]
            seen = group.lanes.step(actions, group.ended)
            self.num_steps += len(episodes)
            for lane in range(size):
                if not group.ended[lane]:
                    last[lane] = self._read(seen[lane])
                    group.ended[lane] = last[lane].ended
                episode = filled[lane]
                if lane < len(episodes) and len(episode[1]) == start + _WORD:
                    found[episode] = last[lane]
        for lane, episode in enumerate(episodes):
            if len(episode[1]) == most:
                self._stand(group, lane, episode, found[episode])
            else:
                self._remember(episode, found[episode])
        return found

    def _told_before(self, episode: Episode) -> Told:
        """The last thing that was told, once more."""
        (told,) = self._find([(episode[0], episode[1][:-_WORD])]).values()
        return told

    def _stand(self, group: _Group, lane: int, episode: Episode, told: Told) -> None:
        group.at[lane] = episode
        self._places[episode] = _Place(group, lane)
        self._remember(episode, told)

    def _leave(self, group: _Group, lane: int) -> None:
        here, group.at[lane] = group.at[lane], None
        if here is not None and self._places.get(here) == _Place(group, lane):
            del self._places[here]

    def _remember(self, episode: Episode, told: Told) -> None:
        self._told[episode] = told
        while len(self._told) > self._most_kept:
            self._told.popitem(last=False)
        if len(self._truths) > self._most_kept:
            self._truths.clear()

    def _free_group(self) -> _Group:
        """A new group, or the one that was used longest ago."""
        lanes = sum(group.lanes.size for group in self._groups.values())
        if self._groups and lanes >= self._most_lanes:
            _, group = self._groups.popitem(last=False)
        else:
            group = _Group(self._make())
        self._groups[id(group)] = group
        return group

    def _read(self, seen: Seen) -> Told:
        space = next(iter(self._groups.values())).lanes.observation_space
        outcome = numbers_of(space, seen.observation)
        size = self._outcome_size = self._outcome_size or outcome.size
        if outcome.size != size or not np.all(np.isfinite(outcome)):
            what = "is not finite"
            if outcome.size != size:
                what = f"has {outcome.size} numbers, where another had {size}"
            raise SimulatorError(
                f"Environment {self._name} has an observation that {what}; let all "
                "have the same size and finite numbers."
            )
        mask = _info(seen).get("action_mask")
        allowed = np.ones(self._num_queries, bool)
        if mask is not None:
            self.says_masks = True
            given = np.asarray(mask).reshape(-1)
            if given.size < self._num_queries:
                raise SimulatorError(
                    f"Environment {self._name} has an action_mask of {given.size} "
                    f"entries for {self._num_queries} queries; give one for each."
                )
            allowed = given.astype(bool)[: self._num_queries]
        return Told(outcome, allowed, seen.ended)

    def _truth(self, seen: Seen) -> int:
        if "hypothesis" not in _info(seen):
            raise SimulatorError(
                f"Environment {self._name} does not say what is true; let reset return "
                "info with 'hypothesis', a whole number from 0 to "
                f"{self._num_hypotheses - 1}."
            )
        given = np.asarray(_info(seen)["hypothesis"])
        whole = given.size == 1 and given.dtype.kind in "iubf"
        truth = float(given.reshape(())) if whole else -1.0
        if truth != int(truth) or not 0 <= truth < self._num_hypotheses:
            raise SimulatorError(
                f"Environment {self._name} has the hypothesis "
                f"{_info(seen)['hypothesis']!r}; it must be a whole number from 0 to "
                f"{self._num_hypotheses - 1}."
            )
        return int(truth)

    def _complaining(self) -> "_Complaints":
        return _Complaints(self._name)


def _info(seen: Seen) -> dict[str, Any]:
    return seen.info if isinstance(seen.info, dict) else {}


class _Complaints:
    """Keeps what an environment raises, as one sentence."""

    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> None:
        if error is None:
            return
        if not isinstance(error, IcpeError):
            short = f"{type(error).__name__}: {error}".splitlines()[0]
            error = SimulatorError(f"Environment {self._name} raised {short}")
        keep_failure(error)
        raise error
