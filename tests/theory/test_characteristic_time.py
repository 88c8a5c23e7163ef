import time
from typing import Any, NamedTuple, cast

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.theory.characteristic_time import (
    bernoulli_characteristic_time,
    bernoulli_information,
    gaussian_characteristic_time,
    gaussian_information,
)

NOISE = 0.7


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def solve(problem):
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return cast(float, problem.value)


class Optimum(NamedTuple):
    time: float
    proportions: np.ndarray


def oracle(means, information):
    """1 / T* as a convex program; `information(w_best, w_other, arm)` is concave.

    Divided by the squared smallest gap, so that the solver's tolerance is relative.
    """
    best = int(np.argmax(means))
    weights = cvxpy.Variable(len(means), nonneg=True)
    level = cvxpy.Variable()
    scale = (np.max(means) - np.sort(means)[-2]) ** 2
    bounds: list[Any] = [cvxpy.sum(weights) == 1]
    bounds += [
        level <= information(weights[best], weights[arm], arm) / scale
        for arm in range(len(means))
        if arm != best
    ]
    problem = cvxpy.Problem(cvxpy.Maximize(level), bounds)
    return Optimum(1 / (solve(problem) * scale), np.asarray(weights.value))


def gaussian_oracle(means):
    gaps = np.max(means) - means

    def information(own, other, arm):
        shared = own - cvxpy.quad_over_lin(own, own + other)
        return shared * gaps[arm] ** 2 / (2 * NOISE**2)

    return oracle(means, information)


def bernoulli_oracle(means):
    """Through entropies: n H(s/n) - w H(mu) - w' H(mu'), a relative entropy cone."""
    best_mean = np.max(means)

    def negative_entropy(p):
        return sum(x * np.log(x) for x in (p, 1 - p) if x > 0)

    def information(own, other, arm):
        total, sum_ = own + other, own * best_mean + other * means[arm]
        mixed = -cvxpy.rel_entr(sum_, total) - cvxpy.rel_entr(total - sum_, total)
        return (
            mixed
            + own * negative_entropy(best_mean)
            + other * negative_entropy(means[arm])
        )

    return oracle(means, information)


def instances(num_arms):
    """Random means, some crowded near 0, whose best arm leads by at least 0.01."""
    means = np.random.default_rng(num_arms).uniform(0.05, 0.95, size=(8, num_arms))
    means[4:] **= 3
    ordered = np.sort(means, axis=1)
    return means[ordered[:, -1] - ordered[:, -2] > 0.01]


@pytest.mark.parametrize("num_arms", [3, 6, 14])
def test_gaussian_time_agrees_with_convex_programming(num_arms):
    for means in instances(num_arms):
        got = gaussian_characteristic_time(jnp.asarray(means), NOISE)
        assert float(got.time) == pytest.approx(gaussian_oracle(means).time, rel=1e-6)
        attained = gaussian_information(got.proportions, jnp.asarray(means), NOISE)
        assert float(attained * got.time) == pytest.approx(1.0, rel=1e-12)
        assert float(jnp.sum(got.proportions)) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("num_arms", [3, 6])
def test_bernoulli_time_agrees_with_convex_programming(num_arms):
    for means in instances(num_arms):
        got = bernoulli_characteristic_time(jnp.asarray(means))
        assert float(got.time) == pytest.approx(bernoulli_oracle(means).time, rel=1e-6)
        attained = bernoulli_information(got.proportions, jnp.asarray(means))
        assert float(attained * got.time) == pytest.approx(1.0, rel=1e-9)
        assert float(jnp.sum(got.proportions)) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["gaussian", "bernoulli"])
def test_times_and_proportions_agree_on_two_hundred_random_instances(law):
    """To 1e-6; the proportions are unique, and the program's are good to 1e-4."""
    rng = np.random.default_rng(7)
    solver = {
        "gaussian": lambda means: gaussian_characteristic_time(means, NOISE),
        "bernoulli": bernoulli_characteristic_time,
    }[law]
    truth = {"gaussian": gaussian_oracle, "bernoulli": bernoulli_oracle}[law]
    checked = given_up = 0
    while checked < 200:
        means = rng.uniform(0.05, 0.95, size=rng.integers(2, 15))
        first, second = np.sort(means)[::-1][:2]
        if first - second < 0.02:
            continue
        try:
            optimum = truth(means)
        except UserWarning:  # the program's own solver is not sure of its answer
            given_up += 1
            continue
        got = solver(jnp.asarray(means))
        assert float(got.time) == pytest.approx(optimum.time, rel=1e-6)
        np.testing.assert_allclose(got.proportions, optimum.proportions, atol=1e-4)
        checked += 1
    assert given_up < 20


def test_bernoulli_time_takes_means_at_the_edges():
    for means in ([1.0, 0.3, 0.0], [0.4, 0.0, 0.0], [1.0, 0.5, 0.5], [0.0, 1.0, 0.0]):
        got = bernoulli_characteristic_time(jnp.array(means))
        truth = bernoulli_oracle(np.array(means)).time
        assert float(got.time) == pytest.approx(truth, rel=1e-6)


def test_two_arms_are_sampled_as_the_chernoff_point_says():
    # Two Gaussian arms: half and half, T* = 8 s^2 / gap^2.
    got = gaussian_characteristic_time(jnp.array([0.2, 0.7]), NOISE)
    np.testing.assert_allclose(got.proportions, [0.5, 0.5], rtol=1e-14)
    assert float(got.time) == pytest.approx(8 * NOISE**2 / 0.25, rel=1e-13)
    # One good arm among K - 1 equals: T* = 2 s^2 (1 + sqrt(K-1))^2 / gap^2.
    got = gaussian_characteristic_time(jnp.array([0.5, 1.0, 0.5, 0.5, 0.5]), NOISE)
    assert float(got.time) == pytest.approx(2 * NOISE**2 * 9 / 0.25, rel=1e-13)


@pytest.mark.slow
def test_no_other_proportions_are_better():
    means = jnp.array([0.9, 0.55, 0.7, 0.2, 0.3, 0.6])
    weights = jnp.asarray(np.random.default_rng(0).dirichlet(np.ones(6), size=2000))
    gaussian = jax.jit(jax.vmap(lambda w: gaussian_information(w, means, NOISE)))(
        weights
    )
    bernoulli = jax.jit(jax.vmap(lambda w: bernoulli_information(w, means)))(weights)
    assert jnp.max(gaussian) * gaussian_characteristic_time(means, NOISE).time < 1
    assert jnp.max(bernoulli) * bernoulli_characteristic_time(means).time < 1


@pytest.mark.parametrize("num_tied", [2, 3])
def test_tied_arms_take_forever_and_get_the_limit_of_the_proportions(num_tied):
    tied = jnp.array([0.6] * num_tied + [0.3, 0.1, 0.5, 0.2])[:6]
    near = tied.at[0].add(1e-6)
    for solver in (
        bernoulli_characteristic_time,
        lambda means: gaussian_characteristic_time(means, NOISE),
    ):
        assert solver(tied).time == jnp.inf
        np.testing.assert_allclose(
            solver(tied).proportions, solver(near).proportions, atol=1e-5
        )


@pytest.mark.slow
def test_single_precision_stays_finite_next_to_one():
    # Some of these means round to exactly 1, some to the number below it.
    many = 1 - np.random.default_rng(0).uniform(size=(200, 6)) ** 8
    for means in jnp.asarray(many, jnp.float32):
        got = bernoulli_characteristic_time(means)
        wide = bernoulli_characteristic_time(means.astype(jnp.float64))
        assert got.time.dtype == jnp.float32
        np.testing.assert_allclose(got.time, wide.time, rtol=1e-3)
        np.testing.assert_allclose(got.proportions, wide.proportions, atol=1e-3)


@pytest.mark.slow
def test_a_thousand_decisions_take_less_than_fifty_microseconds_each():
    means = np.random.default_rng(0).uniform(size=(1000, 14))
    solvers = (
        jax.jit(jax.vmap(bernoulli_characteristic_time)),
        jax.jit(jax.vmap(lambda means: gaussian_characteristic_time(means, NOISE))),
    )
    for solver in solvers:
        batch = jnp.asarray(means, jnp.float32)
        solver(batch).time.block_until_ready()
        seconds = []
        for _ in range(7):
            start = time.perf_counter()
            solver(batch).time.block_until_ready()
            seconds.append(time.perf_counter() - start)
        assert min(seconds) / 1000 < 50e-6
