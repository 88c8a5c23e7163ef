"""Repeats that do not scatter as the noise that was told."""

import numpy as np
import pytest

from icpe.portable.noise import FALSE_ALARMS, is_strange, resolution, scatter

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
    allowed = SESSIONS * FALSE_ALARMS
    assert ever.sum() <= allowed + 4.8 * np.sqrt(allowed)


@pytest.mark.parametrize(
    ("noise", "by"), [(10.0, 3), (0.1, 8), (0.01, 4), (2.0, 40), (0.5, 80)]
)
def test_another_noise_is_noticed(noise, by):
    strange = is_strange(np.arange(1, LONGEST + 1), squares_of(noise, 2), 1.0, 1.0)
    assert strange[:, :by].any(axis=1).mean() > 0.8


def test_repeats_that_are_all_the_same_are_strange_if_they_were_read_finely():
    fine = is_strange(np.arange(40), np.zeros(40), 1.0, 1.0, 0.01)
    assert not fine[:2].any() and fine[4:].all()
    assert not is_strange(np.arange(40), np.zeros(40), 1.0, 1.0, 1.0)[:30].any()


def test_how_finely_numbers_were_read():
    assert resolution([71.0, 72.0, 72.0]) == 1.0
    assert resolution([71.25, 73.5, 80.0]) == pytest.approx(2.25)
    assert resolution([0.71, 0.72]) == pytest.approx(0.01)
    assert resolution([3e-9, 3e-9]) == pytest.approx(1e-9)
    assert resolution([70.0, 70.5, 71.0]) == 0.5


@pytest.mark.parametrize("step", [0.1, 1.0, 2.0])
def test_rounded_repeats_are_hardly_ever_strange(step):
    """Four settings in turn, as in a session; by chance once in 1e-6."""
    rng, strange = np.random.default_rng(5), 0
    for _ in range(400):
        told = step * np.round(rng.normal(70.0, 1.0, 24) / step)
        for number in range(5, 25):
            degrees, squares = scatter((i % 4, told[i]) for i in range(number))
            rounded = resolution(told[:number])
            if is_strange(degrees, squares, 1.0, 1.0, rounded):
                strange += 1
                break
    assert strange <= 400 * FALSE_ALARMS + 4.8 * np.sqrt(400 * FALSE_ALARMS)
