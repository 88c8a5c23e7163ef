"""The picture in the terminal."""

import jax.numpy as jnp

from icpe.core.history import History
from icpe.families import Patches


def test_tiles_appear_where_they_lie_in_shades_of_gray():
    family = Patches(images="drawn-digits", patch_size=14)
    outcomes = jnp.zeros((2, 14, 14))
    outcomes = outcomes.at[1, :2].set(1.0).at[1, 2:4].set(0.5).at[1, 4].set(0.4)

    def lines(length):
        history = History(
            jnp.array([2]), outcomes.reshape(2, -1), jnp.asarray(length, jnp.int32)
        )
        return list(family.episode_picture(history))

    assert lines(0) == ["·" * 28] * 14
    assert lines(1)[:7] == ["·" * 28] * 7
    assert lines(1)[7] == "█" * 14 + "·" * 14
    assert lines(1)[8] == "▒" * 14 + "·" * 14
    assert lines(1)[9] == "░" * 14 + "·" * 14
    assert lines(1)[10] == " " * 14 + "·" * 14
