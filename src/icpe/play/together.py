"""One step of several live episodes in one call."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

from icpe.core.explorer import AbstractExplorer
from icpe.core.request import Regime
from icpe.core.spec import TaskSpec
from icpe.play.live import LiveEpisode, OperatingPoint, Turn, after_outcome

CAPACITIES = (2, 8, 32)
"""Calls are padded to one of these numbers of episodes, so that few programs are
compiled; what is padded is not computed."""


class Step(NamedTuple):
    """What one episode is told; see `LiveEpisode.advance`."""

    live: LiveEpisode
    turn: Turn
    query: int
    outcome: np.ndarray
    query_mask: np.ndarray
    terminated: bool


class TogetherSteps:
    """Steps of episodes that share explorer, spec and regime.

    The program computes one episode after the other, so each gets the very bits that
    `LiveEpisode.advance` gives it; what is saved is the price of a call, which for
    small networks is most of it.
    """

    def __init__(self, explorer: AbstractExplorer, spec: TaskSpec, regime: Regime):
        self.explorer = explorer
        self._arrays, static = eqx.partition(explorer, eqx.is_array)

        def run(arrays, number, points, keys, turns: Turn, told) -> Turn:
            one_explorer = eqx.combine(arrays, static)

            def body(i, turns: Turn) -> Turn:
                def row(leaf):
                    return lax.dynamic_index_in_dim(leaf, i, keepdims=False)

                price, error_prob, cap = map(row, points)
                point = OperatingPoint(price, error_prob, cap, regime)
                live = LiveEpisode(
                    one_explorer, point, jr.wrap_key_data(row(keys)), spec
                )
                turn = after_outcome(live, jax.tree.map(row, turns), *map(row, told))
                return jax.tree.map(
                    lambda leaf, new: lax.dynamic_update_index_in_dim(leaf, new, i, 0),
                    turns,
                    turn,
                )

            return lax.fori_loop(0, number, body, turns)

        self._run = jax.jit(run)

    def __call__(self, steps: Sequence[Step]) -> list[Turn]:
        """The next turn of each, in host memory; at most `CAPACITIES[-1]` of them."""
        number = len(steps)
        capacity = min(it for it in CAPACITIES if it >= number)
        filled = [*steps, *[steps[-1]] * (capacity - number)]
        points = [it.live.operating_point for it in filled]
        turns = [jax.device_get(it.turn) for it in filled]
        after = jax.device_get(
            self._run(
                self._arrays,
                jnp.asarray(number, jnp.int32),
                (
                    np.stack([it.price for it in points]),
                    np.stack([it.error_prob for it in points]),
                    np.stack([it.max_queries for it in points]),
                ),
                np.stack([jr.key_data(it.live.key) for it in filled]),
                _stacked(turns),
                (
                    np.array([it.query for it in filled], np.int32),
                    np.stack([it.outcome for it in filled]),
                    np.stack([it.query_mask for it in filled]),
                    np.array([it.terminated for it in filled], bool),
                ),
            )
        )
        leaves, structure = jax.tree.flatten(after)
        return [
            jax.tree.unflatten(structure, [np.array(leaf[i]) for leaf in leaves])
            for i in range(number)
        ]


def _stacked(turns: Sequence[Turn]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *turns)
