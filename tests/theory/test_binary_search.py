import functools as ft
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.theory.binary_search import (
    VersionSpace,
    interval_log_posterior,
    search_optimum,
    version_space,
)


@ft.cache
def fewest(low, high):
    """Smallest mean over all guesses, an interval of numbers at a time."""
    if low >= high:
        return Fraction(0)
    size = high - low + 1
    return 1 + min(
        Fraction(guess - low, size) * fewest(low, guess - 1)
        + Fraction(high - guess, size) * fewest(guess + 1, high)
        for guess in range(low, high + 1)
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 24])
def test_mean_is_the_smallest_over_all_strategies(size):
    assert search_optimum(size).mean_queries == float(fewest(0, size - 1))


@pytest.mark.parametrize(
    ("size", "mean", "worst"),
    [
        (8, 2.125, 3),
        (16, 2.875, 4),
        (32, 3.719, 5),
        (64, 4.625, 6),
        (128, 5.570, 7),
        (256, 6.5390625, 8),
    ],
)
def test_optimum_has_the_published_values(size, mean, worst):
    optimum = search_optimum(size)
    assert optimum.mean_queries == pytest.approx(mean, abs=5e-4)
    assert optimum.max_queries == worst


def test_worst_case_is_the_smallest_possible():
    # q queries with three outcomes, hits being final, separate at most 2^(q+1) - 1
    # numbers, of which one need not be hit.
    for size in [*range(1, 200), 1000, 4096]:
        assert search_optimum(size).max_queries == size.bit_length() - 1


def test_following_the_splits_takes_the_optimal_number_of_queries():
    size = 100
    optimum = search_optimum(size)
    queries = [_queries_to_find(number, size, optimum.splits) for number in range(size)]
    assert np.mean(queries) == pytest.approx(optimum.mean_queries)
    assert max(queries) == optimum.max_queries


def _queries_to_find(number, size, splits):
    low, high, count = 0, size - 1, 0
    while low < high:
        guess = low + splits[high - low + 1]
        count += 1
        if guess == number:
            break
        low, high = (guess + 1, high) if number > guess else (low, guess - 1)
    return count


def test_version_space_is_what_agrees_with_every_outcome():
    rng = np.random.default_rng(0)
    size = 20
    for _ in range(10):
        number, queries = rng.integers(size), rng.integers(0, size, 3)
        outcomes = np.sign(number - queries)
        agree = [
            n for n in range(size) if np.array_equal(np.sign(n - queries), outcomes)
        ]
        space = version_space(
            jnp.asarray(queries), jnp.asarray(outcomes, jnp.float32), size
        )
        assert (space.low, space.high) == (agree[0], agree[-1])
        assert space.num_candidates == len(agree)


def test_narrowing_step_by_step_equals_narrowing_at_once():
    queries, outcomes = jnp.asarray([10, 3, 7]), jnp.asarray([-1.0, 1.0, 1.0])
    space = VersionSpace.full(20)
    for query, outcome in zip(queries, outcomes, strict=True):
        space = space.narrow(query, outcome)
    at_once = version_space(queries, outcomes, 20)
    assert (space.low, space.high) == (at_once.low, at_once.high) == (8, 9)


def test_posterior_is_uniform_over_the_version_space():
    space = VersionSpace(jnp.asarray(2), jnp.asarray(5))
    np.testing.assert_allclose(
        np.exp(interval_log_posterior(space, 7)), [0, 0, 0.25, 0.25, 0.25, 0.25, 0]
    )


def test_contradictory_outcomes_leave_the_prior():
    space = version_space(jnp.asarray([4, 4]), jnp.asarray([1.0, -1.0]), 8)
    assert space.num_candidates == 0
    np.testing.assert_allclose(np.exp(interval_log_posterior(space, 8)), 1 / 8)


def test_an_empty_search_is_refused():
    with pytest.raises(InvalidParameterError, match="size must be at least 1"):
        search_optimum(0)
