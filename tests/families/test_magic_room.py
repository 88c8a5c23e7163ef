import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from jax import lax

from icpe.core.errors import InvalidParameterError
from icpe.families import MagicRoom
from icpe.families.magic_room import RoomState, RoomTask
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

UP, DOWN, LEFT, RIGHT = range(4)
MOVES = {UP: (0, 1), DOWN: (0, -1), LEFT: (-1, 0), RIGHT: (1, 0)}


def plain_walk(size, clues, values, steps):
    """Positions, clues seen and the step that leaves, in plain Python."""
    middle = size // 2
    exits = {
        (middle, size - 1): UP,
        (middle, 0): DOWN,
        (0, middle): LEFT,
        (size - 1, middle): RIGHT,
    }
    x, y = middle, (size - 1) // 2
    seen = [0, 0]
    record = []
    for step in [None, *steps]:
        left = step is not None and exits.get((x, y)) == step
        if step is not None:
            dx, dy = MOVES[step]
            x = min(max(x + dx, 0), size - 1)
            y = min(max(y + dy, 0), size - 1)
        for i, clue in enumerate(clues):
            if (x, y) == tuple(clue):
                seen[i] = 2 * values[i] - 1
        record.append((x, y, *seen, left))
        if left:
            break
    return np.array(record)


def walks(family, tasks, queries):
    """Outcomes and ends of a batch of walks, the start included."""

    def walk(task, queries):
        first = family.reset(task, key=jr.key(0))

        def step(result, query):
            result = family.step(result.state, query, task, key=jr.key(1))
            return result, (result.outcome, result.terminated)

        _, (outcomes, ends) = lax.scan(step, first, queries)
        outcomes = jnp.concatenate([first.outcome[None], outcomes])
        return outcomes, jnp.append(False, ends)

    return jax.jit(jax.vmap(walk))(tasks, jnp.asarray(queries, jnp.int32))


@pytest.mark.slow
def test_the_magic_room_conforms():
    check_family(MagicRoom(size=4))


@pytest.mark.parametrize("size", [5, 6])
def test_random_walks_equal_those_of_a_plain_loop(size, draw_tasks):
    family = MagicRoom(size=size)
    tasks = draw_tasks(family, 60)
    queries = np.random.default_rng(0).integers(0, 4, (60, 25))
    outcomes, ends = walks(family, tasks, queries)
    left = 0
    for i in range(60):
        cells, values = tasks.cells[i].tolist(), tasks.values[i].tolist()
        expected = plain_walk(size, cells, values, queries[i].tolist())
        number = len(expected)
        np.testing.assert_array_equal(outcomes[i, :number, :4], expected[:, :4])
        np.testing.assert_array_equal(ends[i, :number], expected[:, 4])
        left += int(expected[-1, 4])
    assert left > 3  # Some of them found a door, or the comparison would be hollow.


@pytest.mark.parametrize(
    ("steps", "left_at"),
    [
        ([UP] * 4, 4),  # From (3, 2) by (3, 5), where a fourth step up leaves.
        ([DOWN] * 3, 3),
        ([UP, *[LEFT] * 4], 5),
        ([UP, *[RIGHT] * 3], 4),
        ([LEFT] * 6, None),  # The wall beside the door stops.
        ([LEFT, *[DOWN] * 5], None),
    ],
)
def test_one_leaves_only_through_a_door(steps, left_at):
    family = MagicRoom(size=6)
    task = RoomTask(jnp.asarray([[1, 1], [4, 4]]), jnp.asarray([0, 1]))
    queries = steps + [UP] * (6 - len(steps))
    tasks = jax.tree.map(lambda leaf: leaf[None], task)
    ends = np.asarray(walks(family, tasks, [queries])[1][0])[: len(steps) + 1]
    assert ends.any() == (left_at is not None)
    if left_at is not None:
        assert np.argmax(ends) == left_at


@pytest.mark.slow
def test_clues_lie_uniformly_away_from_the_walls_and_are_fair(draw_tasks):
    tasks = draw_tasks(MagicRoom(size=5), 2000)
    counts = np.unique(tasks.cells.reshape(-1, 2), axis=0, return_counts=True)
    assert [tuple(cell) for cell in counts[0].tolist()] == [
        (x, y) for x in (1, 2, 3) for y in (1, 2, 3)
    ]
    assert scipy.stats.chisquare(counts[1]).pvalue > ALARM
    doors = np.bincount(2 * tasks.values[:, 0] + tasks.values[:, 1], minlength=4)
    assert scipy.stats.chisquare(doors).pvalue > ALARM


@pytest.mark.slow
def test_the_right_door_shows_itself_with_the_probability_of_luck(draw_outcomes):
    family = MagicRoom(size=6)
    at_the_top = RoomState(jnp.asarray([3, 5]), jnp.zeros(2, bool))
    for values, rate in (([0, 0], 0.25), ([1, 0], 0.0)):
        task = RoomTask(jnp.asarray([[1, 1], [4, 4]]), jnp.asarray(values))
        rewards = draw_outcomes(family, task, UP, 3000, state=at_the_top)[:, 4]
        # Standard error 0.008; 5 of them are exceeded with probability 6e-7.
        assert abs(rewards.mean() - rate) <= (0.04 if rate else 0.0)
        away = draw_outcomes(family, task, DOWN, 100, state=at_the_top)[:, 4]
        assert (away == 0).all()


def test_only_the_room_ends_an_episode():
    spec = MagicRoom(size=6).spec
    assert not spec.can_stop
    assert spec.horizon == 36
    assert spec.normalize(jnp.asarray([0.0, 5, -1, 1, 0])).tolist() == [-1, 1, -1, 1, 0]


@pytest.mark.parametrize("bad", [{"size": 2}, {"luck": 1.5}, {"horizon": -1}])
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        MagicRoom(**bad)
