"""One step of several live episodes in one call."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
from jax import lax

from icpe.core.explorer import AbstractExplorer
from icpe.core.request import Regime
from icpe.core.spec import TaskSpec
from icpe.play.live import LiveEpisode, OperatingPoint, Turn, after_outcome

CAPACITIES = (1, 8, 32)
"""Calls are padded to one of these numbers of episodes, so that few programs are
compiled; what is padded is not computed."""


class EpisodeRow(NamedTuple):
    """What distinguishes an episode from others of its explorer, in host memory."""

    price: np.ndarray
    error_prob: np.ndarray
    max_queries: np.ndarray
    key: np.ndarray

    @staticmethod
    def of(live: LiveEpisode) -> "EpisodeRow":
        """The row of a live episode; it is fetched from the device, so keep it."""
        point = live.operating_point
        values = (point.price, point.error_prob, point.max_queries)
        return EpisodeRow(*jax.device_get((*values, jr.key_data(live.key))))


class Step(NamedTuple):
    """What one episode is told; see `LiveEpisode.advance`."""

    row: EpisodeRow
    turn: Turn
    query: int
    outcome: np.ndarray
    query_mask: np.ndarray
    terminated: bool


class TogetherSteps:
    """Steps of episodes that share explorer, spec and regime.

    The program computes one episode after the other, so each gets the very bits that
    `LiveEpisode.advance` gives it; what is saved is the price of a call, which for
    small networks is most of it. For the same reason the program takes plain lists of
    arrays, which are made ready once.
    """

    def __init__(self, explorer: AbstractExplorer, spec: TaskSpec, regime: Regime):
        self.explorer = explorer
        self._spec, self._regime = spec, regime
        arrays, self._static = eqx.partition(explorer, eqx.is_array)
        self._weights, self._weights_structure = jax.tree.flatten(arrays)
        self._programs: dict[Any, Callable[..., list[jax.Array]]] = {}

    def __call__(self, steps: Sequence[Step]) -> list[Turn]:
        """The next turn of each, in host memory; at most `CAPACITIES[-1]` of them."""
        number = len(steps)
        capacity = min(it for it in CAPACITIES if it >= number)
        filled = [*steps, *[steps[-1]] * (capacity - number)]
        structure = jax.tree.structure(steps[0].turn)
        rows = zip(*(it.row for it in filled), strict=True)
        turns = zip(*(jax.tree.leaves(it.turn) for it in filled), strict=True)
        told = (
            np.array([it.query for it in filled], np.int32),
            np.stack([it.outcome for it in filled]),
            np.stack([it.query_mask for it in filled]),
            np.array([it.terminated for it in filled], bool),
        )
        after = self._program(structure)(
            self._weights,
            np.int32(number),
            [np.stack(column) for column in rows],
            [np.stack(column) for column in turns],
            told,
        )
        columns = [np.asarray(column) for column in after]
        return [
            jax.tree.unflatten(structure, [np.array(column[i]) for column in columns])
            for i in range(number)
        ]

    def _program(self, structure: Any) -> Callable[..., list[jax.Array]]:
        """The compiled step of turns of this structure."""
        if structure not in self._programs:
            self._programs[structure] = self._made_program(structure)
        return self._programs[structure]

    def _made_program(self, structure: Any) -> Callable[..., list[jax.Array]]:
        @jax.jit
        def run(weights, number, rows, turns: list, told) -> list[jax.Array]:
            arrays = jax.tree.unflatten(self._weights_structure, weights)
            explorer = eqx.combine(arrays, self._static)

            def body(i, columns: list) -> list:
                def at(column):
                    return lax.dynamic_index_in_dim(column, i, keepdims=False)

                price, error_prob, most, key = map(at, rows)
                point = OperatingPoint(price, error_prob, most, self._regime)
                live = LiveEpisode(explorer, point, jr.wrap_key_data(key), self._spec)
                turn = jax.tree.unflatten(structure, list(map(at, columns)))
                after = after_outcome(live, turn, *map(at, told))
                return [
                    lax.dynamic_update_index_in_dim(column, new, i, 0)
                    for column, new in zip(columns, jax.tree.leaves(after), strict=True)
                ]

            return lax.fori_loop(0, number, body, turns)

        return run
