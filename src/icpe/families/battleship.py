"""Battleship with one ship: where does it lie?"""

import functools as ft

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.board import Board, BoardCell
from icpe.core.checks import check_between
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    check_ranges,
    parameter,
    plain_reset,
    plain_step,
)
from icpe.core.history import History
from icpe.core.spec import TaskSpec

_LARGEST_SIZE = 64


class Battleship(AbstractTaskFamily):
    """A ship lies along a row or a column of a square; a query fires at a cell.

    All places are equally probable. A shot is answered by hit or miss, without error,
    and each cell can be fired at once. The answer is the place of the ship.
    """

    size: int = parameter(
        8, "rows and columns of the square", at_least=2, at_most=_LARGEST_SIZE
    )
    length: int = parameter(3, "cells that the ship covers")
    horizon: int = parameter(0, "most shots; 0 means all cells", rare=True)

    def __check_init__(self):
        check_ranges(self)
        check_between("length", self.length, 2, self.size)
        check_between("horizon", self.horizon, 0, self.size**2)

    @property
    def places(self) -> Bool[np.ndarray, "places cells"]:
        """The cells that the ship covers in each place."""
        return _places(self.size, self.length)

    @property
    def spec(self) -> TaskSpec:
        """A query fires at a cell; the hypotheses are the places of the ship."""
        size, cells = self.size, self.size**2
        along = size - self.length + 1
        directions = ("row {a}, from column {b}", "column {a}, from row {b}")
        return TaskSpec(
            num_queries=cells,
            num_hypotheses=len(self.places),
            outcome_size=1,
            horizon=self.horizon or cells,
            query_names=tuple(
                f"row {i // size + 1}, column {i % size + 1}" for i in range(cells)
            ),
            hypothesis_names=tuple(
                words.format(a=a + 1, b=b + 1)
                for words in directions
                for a in range(size)
                for b in range(along)
            ),
            outcome_names=("hit",),
            outcome_labels=(("miss", (0.0,)), ("hit", (1.0,))),
            question="Fire at {query}: hit or miss?",
            reveals=False,
            may_end=False,
            ask_once=True,
        )

    def sample_task(self, *, key: PRNGKey) -> Int[Array, ""]:
        return jr.randint(key, (), 0, len(self.places))

    def reset(self, task: Int[Array, ""], *, key: PRNGKey) -> StepResult:
        return plain_reset(self.spec)

    def step(
        self, state: None, query: Index, task: Int[Array, ""], *, key: PRNGKey
    ) -> StepResult:
        hit = jnp.asarray(self.places)[task, query]
        return plain_step(self.spec, hit.astype(jnp.float32)[None])

    def hypothesis(self, task: Int[Array, ""]) -> Index:
        return task

    def log_likelihood(
        self, hypothesis: Index, query: Index, outcome: Float[Array, "outcome"]
    ) -> Scalar:
        hit = jnp.asarray(self.places)[hypothesis, query]
        return jnp.where(hit == (outcome[0] > 0.5), 0.0, -jnp.inf)

    def contradicts(self, history: History) -> bool:
        """Whether no place agrees with all shots."""
        number = int(history.length)
        shots = np.asarray(history.queries[:number])
        hits = np.asarray(history.outcomes[1 : number + 1, 0]) > 0.5
        return not (self.places[:, shots] == hits).all(axis=1).any()

    def episode_picture(self, history: History) -> tuple[str, ...]:
        """The square: hits, misses, and cells not fired at."""
        board = np.full(self.size**2, "·")
        for step in range(int(history.length)):
            hit = float(history.outcomes[step + 1, 0]) > 0.5
            board[int(history.queries[step])] = "X" if hit else "o"
        return tuple(" ".join(row) for row in board.reshape(self.size, self.size))

    def episode_board(self, history: History) -> Board:
        """The square, of which every cell can be fired at."""
        size, cells = self.size, []
        shots = {
            int(history.queries[step]): float(history.outcomes[step + 1, 0]) > 0.5
            for step in range(int(history.length))
        }
        for query in range(size**2):
            place = divmod(query, size)
            if query not in shots:
                cells.append(BoardCell(*place, words="not fired at", query=query))
            elif shots[query]:
                cells.append(BoardCell(*place, "good", "✕", "hit", query))
            else:
                cells.append(BoardCell(*place, "seen", "·", "miss", query))
        caption = "The square from above: hits, misses and cells not fired at."
        return Board(size, size, tuple(cells), caption=caption)


@ft.lru_cache
def _places(size: int, length: int) -> Bool[np.ndarray, "places cells"]:
    boards = []
    for row in range(size):
        for start in range(size - length + 1):
            board = np.zeros((size, size), bool)
            board[row, start : start + length] = True
            boards.append(board)
    boards += [board.T for board in boards]
    return np.stack([board.ravel() for board in boards])
