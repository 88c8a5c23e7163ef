"""Repeats that do not scatter as the noise that was told."""

import numpy as np
import pytest

from icpe.portable.noise import FALSE_ALARMS, is_strange, scatter

SESSIONS = 20_000
LONGEST = 80


def test_the_scatter_is_that_of_repeats_about_their_means():
    rng = np.random.default_rng(0)
    queries, values = rng.integers(0, 4, 30), rng.normal(5.0, 2.0, 30)
    groups = [values[queries == query] for query in set(queries)]
    degrees, squares = scatter(zip(queries, values, strict=True))
    assert degrees == 30 - len(groups)
    assert squares == pytest.approx(sum(np.var(it) * len(it) for it in groups))
    assert scatter([(0, 1.0), (1, 2.0)]) == (0, 0.0)


def squares_of(noise: float, seed: int):
    """Of growing numbers of repeats, their squared distances in many sessions."""
    draws = np.random.default_rng(seed).normal(0.0, noise, (SESSIONS, LONGEST))
    return np.cumsum(np.square(draws), axis=1)


@pytest.mark.parametrize("told", [(1.0, 1.0), (0.5, 2.0)])
def test_repeats_with_the_noise_that_was_told_are_hardly_ever_strange(told):
    """Fewer than the bound allows; this has a false alarm in 1e-6."""
    ever = is_strange(np.arange(1, LONGEST + 1), squares_of(1.0, 1), *told).any(axis=1)
    assert ever.sum() <= SESSIONS * FALSE_ALARMS + 4.8 * np.sqrt(SESSIONS * FALSE_ALARMS)


@pytest.mark.parametrize(
    ("noise", "by"), [(10.0, 3), (0.1, 8), (0.01, 4), (2.0, 40), (0.5, 80)]
)
def test_another_noise_is_noticed(noise, by):
    strange = is_strange(np.arange(1, LONGEST + 1), squares_of(noise, 2), 1.0, 1.0)
    assert strange[:, :by].any(axis=1).mean() > 0.8


def test_repeats_that_are_all_the_same_are_strange_before_long():
    strange = is_strange(np.arange(12), np.zeros(12), 1.0, 1.0)
    assert not strange[:3].any() and strange[6:].all()
