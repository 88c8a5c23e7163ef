"""The magic room: walk, find two clues, leave by the right door."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.board import Board, BoardCell
from icpe.core.family import AbstractTaskFamily, StepResult, parameter
from icpe.core.history import History
from icpe.core.spec import TaskSpec

Cell = Int[Array, "2"]


class RoomTask(eqx.Module):
    """Where the two clues lie, and what they say."""

    cells: Int[Array, "clues=2 2"]
    values: Int[Array, "clues=2"]


class RoomState(eqx.Module):
    """Where the explorer is, and which clues it has found."""

    cell: Cell
    found: Bool[Array, "clues=2"]


class MagicRoom(AbstractTaskFamily):
    """A square room with four doors, one of them right; two clues tell which.

    A query is a step up, down, left or right on a grid of `size` x `size` cells; a
    step into a wall does nothing, and a step outward from a door's cell, at the middle
    of its wall, leaves the room and ends the episode. Nothing else ends it but the
    horizon, so the explorer cannot stop by itself. Each clue lies in a uniformly
    random cell away from the walls (both may share one), says -1 or +1, and is found
    by stepping on it; the two values together number the right door. Leaving by the
    right door also gives a reward of 1 with probability `luck`.

    An outcome is (x, y, first clue, second clue, reward), a clue being 0 until it is
    found; the first outcome shows the start, the middle of the room.
    """

    size: int = parameter(6, "cells along a wall K", at_least=3)
    luck: float = parameter(
        0.25, "probability that the right door shows itself", at_least=0.0, at_most=1.0
    )
    horizon: int = parameter(
        0, "most queries in an episode; 0 means size * size", rare=True, at_least=0
    )

    def in_words(self) -> str:
        return (
            f"a room of {self.size} x {self.size} cells with a door in each wall; two "
            "hidden clues name the right door, which shows itself with probability "
            f"{self.luck:g}"
        )

    @property
    def spec(self) -> TaskSpec:
        """A query is a step; the hypotheses are the doors."""
        half = (self.size - 1) / 2
        return TaskSpec(
            num_queries=4,
            num_hypotheses=4,
            outcome_size=5,
            horizon=self.horizon or self.size**2,
            outcome_shift=(half, half, 0.0, 0.0, 0.0),
            outcome_scale=(half, half, 1.0, 1.0, 1.0),
            can_stop=False,
            query_names=("up", "down", "left", "right"),
            hypothesis_names=("top door", "bottom door", "left door", "right door"),
            outcome_names=("x", "y", "first clue", "second clue", "reward"),
            question="Step {query}: where are you, and what do you see?",
            reveals=True,
            may_end=True,
        )

    def sample_task(self, *, key: PRNGKey) -> RoomTask:
        """Lays out the clues."""
        cell_key, value_key = jr.split(key)
        return RoomTask(
            cells=jr.randint(cell_key, (2, 2), 1, self.size - 1),
            values=jr.randint(value_key, (2,), 0, 2),
        )

    def reset(self, task: RoomTask, *, key: PRNGKey) -> StepResult:
        """Starts in the middle of the room, of an even one right below it."""
        cell = jnp.asarray([self.size // 2, (self.size - 1) // 2], jnp.int32)
        state = RoomState(cell, _same_cell(task.cells, cell))
        return self._result(state, task, jnp.zeros(()), jnp.asarray(False))

    def step(
        self, state: RoomState, query: Index, task: RoomTask, *, key: PRNGKey
    ) -> StepResult:
        """Moves, finds clues, or leaves."""
        leaves = _same_cell(self._doors, state.cell)[query]
        moved = jnp.clip(state.cell + self._moves[query], 0, self.size - 1)
        lucky = jr.uniform(key) < self.luck
        reward = leaves & (query == self.hypothesis(task)) & lucky
        state = RoomState(moved, state.found | _same_cell(task.cells, moved))
        return self._result(state, task, reward.astype(jnp.float32), leaves)

    def hypothesis(self, task: RoomTask) -> Index:
        """The right door: the two clues read as a binary number."""
        return 2 * task.values[0] + task.values[1]

    def episode_board(self, history: History) -> Board:
        """The room from above with its doors, the way so far and the clues found."""
        outcomes = np.asarray(history.outcomes)[: int(history.length) + 1]
        spots = np.clip(outcomes[:, :2].round().astype(int), 0, self.size - 1)
        path = tuple((self.size - y, x + 1) for x, y in spots.tolist())
        cells = {place: BoardCell(*place, "seen", words="visited") for place in path}
        for place, text, words in _clues_found(path, outcomes[:, 2:4]):
            cells[place] = BoardCell(*place, "good", cells[place].text + text, words)
        here = cells[path[-1]]
        words = f"you are here; {here.words}" if here.text else "you are here"
        cells[path[-1]] = dataclasses.replace(here, kind="here", words=words)
        last, across = self.size + 1, self.size // 2 + 1
        down = last - across
        doors = ((0, across), (last, across), (down, 0), (down, last))
        for place, name in zip(doors, self.spec.hypothesis_names, strict=True):
            cells[place] = BoardCell(*place, "mark", "◇", name)
        for row, column in itertools.product(range(last + 1), repeat=2):
            if not {0, last}.isdisjoint((row, column)):
                cells.setdefault((row, column), BoardCell(row, column, "wall"))
        caption = "The room from above, with its four doors and the way so far."
        return Board(last + 1, last + 1, tuple(cells.values()), path, caption)

    @property
    def _moves(self) -> Int[Array, "4 2"]:
        return jnp.asarray([[0, 1], [0, -1], [-1, 0], [1, 0]], jnp.int32)

    @property
    def _doors(self) -> Int[Array, "4 2"]:
        """The cell of each door, in the order of the moves that leave by it."""
        middle, last = self.size // 2, self.size - 1
        doors = [[middle, last], [middle, 0], [0, middle], [last, middle]]
        return jnp.asarray(doors, jnp.int32)

    def _result(
        self, state: RoomState, task: RoomTask, reward: Scalar, terminated
    ) -> StepResult:
        signs = 2.0 * task.values.astype(jnp.float32) - 1.0
        outcome = jnp.concatenate(
            [
                state.cell.astype(jnp.float32),
                jnp.where(state.found, signs, 0.0),
                reward[None],
            ]
        )
        return StepResult(state, outcome, jnp.ones(4, bool), terminated)


def _same_cell(cells: Int[Array, "n 2"], cell: Cell) -> Bool[Array, "n"]:
    return jnp.all(cells == jnp.broadcast_to(cell, cells.shape), axis=1)


def _clues_found(
    path: Sequence[tuple[int, int]], clues: Float[np.ndarray, "steps 2"]
) -> Iterator[tuple[tuple[int, int], str, str]]:
    """Where each clue was found, with a short text and words about it."""
    before = np.concatenate([np.zeros((1, 2)), clues[:-1]])
    for step, clue in np.argwhere((clues != 0) & (before == 0)).tolist():
        says = "+1" if clues[step, clue] > 0 else "−1"
        name = ("first", "second")[clue]
        yield path[step], "AB"[clue] + says[0], f"{name} clue, which says {says}"
