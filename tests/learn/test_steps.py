"""How weights move."""

import equinox as eqx
import jax.numpy as jnp

from icpe.learn.steps import polyak


class Point(eqx.Module):
    x: jnp.ndarray
    label: str = eqx.field(static=True, default="kept")


def test_the_average_moves_a_share_of_the_way():
    moved = polyak(Point(jnp.array([1.0, 4.0])), Point(jnp.zeros(2)), 0.25)
    assert moved.x.tolist() == [0.25, 1.0]
    assert moved.label == "kept"
