import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import zeta

from icpe.theory.thresholds import (
    bernoulli_threshold,
    finite_model_threshold,
    gaussian_deviation,
    gaussian_threshold,
    heuristic_threshold,
    kl_lucb_rate,
    lucb_rate,
)

DELTA = 0.1


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def deviation_by_search(x):
    """The minimum in the definition, by a scalar search."""

    def bound(a):
        g = 2 * a - 2 * a * np.log(4 * a) + np.log(zeta(2 * a)) - np.log(1 - a) / 2
        return (g + x) / a

    return minimize_scalar(bound, bounds=(0.5 + 1e-9, 1 - 1e-9), method="bounded").fun


def test_the_heuristic_is_that_of_the_paper():
    got = heuristic_threshold(jnp.array([1.0, 50.0]), jnp.array(DELTA))
    np.testing.assert_allclose(got, np.log((1 + np.log([1.0, 50.0])) / DELTA))


def test_nothing_seen_yet_counts_as_one_reward():
    zero, one = (
        heuristic_threshold(jnp.array(count), jnp.array(DELTA)) for count in (0.0, 1.0)
    )
    assert zero == one


@pytest.mark.parametrize("x", [0.5, 2.0, 8.0, 30.0])
def test_the_gaussian_deviation_is_the_minimum_over_lambda_up_to_its_grid(x):
    got, truth = float(gaussian_deviation(jnp.array(x))), deviation_by_search(x)
    assert truth - 1e-9 <= got <= truth * (1 + 1e-4)


def test_the_gaussian_threshold_adds_what_each_arm_may_deviate():
    got = gaussian_threshold(jnp.array(10.0), jnp.array(40.0), 5, jnp.array(DELTA))
    spread = 2 * np.log(4 + np.log(10)) + 2 * np.log(4 + np.log(40))
    truth = 2 * deviation_by_search(np.log(4 / DELTA) / 2) + spread
    assert float(got) == pytest.approx(truth, rel=1e-4)


def test_bernoulli_and_finite_thresholds_are_those_of_their_theorems():
    delta = jnp.array(DELTA)
    assert float(bernoulli_threshold(jnp.array(30.0), 4, delta)) == pytest.approx(
        np.log(2 * 30 * 3 / DELTA)
    )
    assert float(finite_model_threshold(9, delta)) == pytest.approx(np.log(8 / DELTA))


@pytest.mark.parametrize(
    ("rate", "failures"),
    [
        # Over all times: one side of each of K arms, with t choices of its rewards.
        (lucb_rate, lambda t, rate: t * np.exp(-rate)),
        # Over all numbers u of rewards of an arm, since the rate grows with time.
        (kl_lucb_rate, lambda t, rate: np.exp(-rate)),
    ],
)
def test_the_union_bound_behind_an_exploration_rate_is_at_most_delta(rate, failures):
    times = np.arange(1.0, 200_000.0)
    rates = np.asarray(rate(jnp.asarray(times), 6, jnp.array(DELTA)))
    assert 6 * np.sum(failures(times, rates)) <= DELTA


@pytest.mark.slow
def test_the_gaussian_threshold_is_rarely_crossed_by_chance():
    """Two equal arms in turn: the wrong one ever wins with probability at most delta.

    At delta = 0.5 the boundary would have to be crossed by more than half of 2,000
    runs; a bound that holds with 0.5 fails that by chance with probability below
    1e-9 (Hoeffding, 0.58).
    """
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(2000, 2, 1000))
    counts = np.arange(1, 1001.0)
    gaps = (rewards[:, 0] - rewards[:, 1]).cumsum(1) / counts
    evidence = np.where(gaps > 0, counts / 2 * gaps**2 / 2, 0.0)
    counts = jnp.asarray(counts)
    threshold = np.asarray(gaussian_threshold(counts, counts, 2, jnp.array(0.5)))
    assert np.mean((evidence >= threshold).any(1)) <= 0.58
    # The evidence itself is not small: without the threshold's terms it would fail.
    assert np.mean((evidence >= np.log(1 / 0.5)).any(1)) > 0.58
