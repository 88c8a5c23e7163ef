import itertools
import re

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.core.request import OperatingPoint
from icpe.explorers.registry import make_explorer
from icpe.families import Battleship
from icpe.play.rollout import rollout
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""

SMALL = Battleship(size=3, length=2)
NUM_PLACES = 12


def cells_of(name, length):
    """The cells of a ship by the words for its place, rows and columns from 1."""
    found = re.fullmatch(r"(row|column) (\d), from (row|column) (\d)", name)
    assert found and found[1] != found[3]
    line, start = int(found[2]), int(found[4])
    along = range(start, start + length)
    return {(line, i) if found[1] == "row" else (i, line) for i in along}


def ships():
    """Hit (1) or miss (0) of every cell, for every place of the small family."""
    rows = [
        [
            (row, column) in cells_of(name, 2)
            for row in (1, 2, 3)
            for column in (1, 2, 3)
        ]
        for name in SMALL.spec.hypothesis_names
    ]
    return np.array(rows, int)


@pytest.mark.slow
def test_battleship_conforms():
    check_family(SMALL)


def test_a_shot_hits_the_cells_that_the_name_of_the_place_tells():
    shoot = jax.vmap(
        lambda place, cell: SMALL.step(None, cell, place, key=jr.key(0)).outcome[0],
        in_axes=(None, 0),
    )
    answers = jax.vmap(shoot, in_axes=(0, None))(jnp.arange(12), jnp.arange(9))
    np.testing.assert_array_equal(answers, ships())
    assert SMALL.spec.query_names[2:4] == ("row 1, column 3", "row 2, column 1")


@pytest.mark.parametrize(("size", "length"), [(2, 2), (4, 4), (5, 3), (8, 3)])
def test_the_places_are_all_different_and_all_there_are(size, length):
    family = Battleship(size=size, length=length)
    assert len(np.unique(family.places, axis=0)) == 2 * size * (size - length + 1)
    assert (family.places.sum(1) == length).all()
    assert family.spec.num_hypotheses == len(family.places)


def test_every_place_is_equally_probable(draw_tasks):
    counts = np.bincount(draw_tasks(SMALL, 4000), minlength=NUM_PLACES)
    assert counts.size == NUM_PLACES
    assert scipy.stats.chisquare(counts).pvalue > ALARM


@pytest.mark.parametrize(
    "pairs", [[], [(4, 1)], [(4, 0), (0, 0)], [(4, 1), (3, 0), (5, 1)]]
)
def test_the_posterior_is_uniform_on_the_places_that_agree(pairs, posterior_after):
    agree = np.all([ships()[:, cell] == hit for cell, hit in pairs], axis=0)
    agree = np.broadcast_to(agree, NUM_PLACES)
    np.testing.assert_allclose(
        posterior_after(SMALL, *pairs), agree / agree.sum(), rtol=1e-5
    )


def test_shots_contradict_when_no_place_fits_them(history_of):
    fits = ships()
    for cells in itertools.combinations(range(9), 3):
        for hits in itertools.product((0, 1), repeat=3):
            possible = (fits[:, list(cells)] == hits).all(1).any()
            history = history_of(*zip(cells, hits, strict=True))
            assert SMALL.contradicts(history) is not bool(possible)
    assert not SMALL.contradicts(history_of())


def test_the_picture_shows_hits_and_misses(history_of):
    picture = SMALL.episode_picture(history_of((0, 0.0), (5, 1.0), (7, 0.0)))
    assert picture == ("o · ·", "· · X", "· o ·")
    assert SMALL.episode_picture(history_of()) == ("· · ·",) * 3


def test_information_gain_finds_every_ship_and_fires_at_no_cell_twice():
    explorer = make_explorer("information-gain", SMALL)
    point = OperatingPoint.at(SMALL.spec.horizon, error_prob=0.01)
    keys = jr.split(jr.key(0), NUM_PLACES)
    episodes = jax.jit(
        lambda: rollout(explorer, SMALL, point, keys=keys, tasks=jnp.arange(NUM_PLACES))
    )()
    assert episodes.ending.correct.all()
    for queries in np.asarray(episodes.history.queries):
        shots = queries[queries >= 0]
        assert len(set(shots)) == len(shots)
    # A shot has two answers, so it takes at least as many as there are bits.
    assert np.mean(episodes.ending.num_queries) >= np.log2(NUM_PLACES)


def test_the_default_horizon_is_all_cells():
    assert SMALL.spec.ask_once
    assert SMALL.spec.horizon == 9
    assert Battleship(horizon=5).spec.horizon == 5
    assert dict(SMALL.spec.outcome_labels) == {"miss": (0.0,), "hit": (1.0,)}


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"size": 1}, "size must be between 2 and 64; got 1."),
        ({"length": 1}, "length must be between 2 and 8; got 1."),
        ({"length": 9}, "length must be between 2 and 8; got 9."),
        ({"horizon": 65}, "horizon must be between 0 and 64; got 65."),
    ],
)
def test_an_impossible_parameter_is_refused(bad, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        Battleship(**bad)
    assert str(caught.value) == sentence
