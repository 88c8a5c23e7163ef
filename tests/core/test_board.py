"""Boards: what families show of an episode that happens on a grid."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.board import Board, BoardCell
from icpe.core.errors import InvalidParameterError
from icpe.core.history import History
from icpe.families import Battleship, MagicRoom


def history(queries, outcomes):
    return History(
        jnp.asarray(queries, jnp.int32),
        jnp.asarray(outcomes, jnp.float32),
        jnp.asarray(len(queries), jnp.int32),
    )


def drawn(board):
    shown = {"plain": " ", "seen": ".", "here": "@", "good": "+", "mark": "D"}
    lines = np.full((board.rows, board.columns), " ")
    for cell in board.cells:
        lines[cell.row, cell.column] = shown.get(cell.kind, "#")
    return ["".join(line) for line in lines]


def test_a_room_from_above():
    start, up, left, door = (2, 1, 0, 0), (2, 2, 0, 1), (1, 2, 0, 1), (0, 2, -1, 1)
    outcomes = [(*outcome, 0) for outcome in (start, up, left, door)]
    board = MagicRoom(size=4).episode_board(history([0, 2, 2], outcomes))
    assert drawn(board) == ["###D##", "#    #", "D@.+ D", "#  . #", "#    #", "###D##"]
    words = {cell.words for cell in board.cells}
    assert "second clue, which says +1" in words
    assert "you are here; first clue, which says −1" in words
    assert board.path == ((3, 3), (2, 3), (2, 2), (2, 1))


@pytest.mark.parametrize("size", [3, 4, 6])
def test_doors_are_next_to_the_cells_from_which_one_leaves(size):
    room = MagicRoom(size=size)
    for query, (x, y) in enumerate(np.asarray(room._doors).tolist()):
        board = room.episode_board(history([], [(x, y, 0, 0, 0)]))
        (here,) = (cell for cell in board.cells if cell.kind == "here")
        name = room.spec.hypothesis_names[query]
        (door,) = (cell for cell in board.cells if cell.words == name)
        step = [(-1, 0), (1, 0), (0, -1), (0, 1)][query]
        assert (door.row - here.row, door.column - here.column) == step


def test_every_cell_of_a_battle_can_be_fired_at():
    board = Battleship(size=3, length=2).episode_board(history([4, 0], [[0], [1], [0]]))
    assert drawn(board) == [".  ", " + ", "   "]
    assert [cell.query for cell in board.cells] == list(range(9))


def test_a_board_refuses_places_outside_and_taken_ones():
    with pytest.raises(InvalidParameterError, match=r"within 2 rows.*got \(2, 0\)"):
        Board(2, 2, (BoardCell(2, 0),))
    with pytest.raises(InvalidParameterError, match="within 2 rows"):
        Board(2, 2, path=((0, -1),))
    with pytest.raises(InvalidParameterError, match="at most one cell"):
        Board(2, 2, (BoardCell(0, 0), BoardCell(0, 0, "seen")))
    with pytest.raises(InvalidParameterError, match="at least 1"):
        Board(0, 2)
