from typing import Any, cast

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.theory.divergences import kl_error_prob
from icpe.theory.minimum_gap import minimum_gap_bounds, minimum_gap_proportions

NOISE, ERROR_PROB = 0.5, 0.1


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def bandits():
    """Means whose best arm leads by more than the gap, or by exactly the gap."""
    rng = np.random.default_rng(0)
    for gap, num_arms, slack in [(0.4, 3, 0.3), (0.1, 5, 0.0), (1.0, 4, 0.2)]:
        means = rng.uniform(0.0, 2.0, size=num_arms)
        means[1] = np.delete(means, 1).max() + gap + slack
        yield means, gap


def information(weights, means, gap):
    """Smallest information of these proportions, a quadratic program per rival."""
    values = []
    for rival in set(range(len(means))) - {int(np.argmax(means))}:
        other = cvxpy.Variable(len(means))
        moved = cvxpy.sum(cvxpy.multiply(weights, cvxpy.square(other - means)))
        leads: list[Any] = [
            other[rival] - other[arm] >= gap
            for arm in range(len(means))
            if arm != rival
        ]
        problem = cvxpy.Problem(cvxpy.Minimize(moved), leads)
        problem.solve(solver="CLARABEL")
        values.append(cast(float, problem.value) / (2 * NOISE**2))
    return min(values)


def exact_time(means, gap):
    """T* of the class by duality: a mixture q of rivals, and u_a = q_a (mu'_a - mu)."""
    rivals = sorted(set(range(len(means))) - {int(np.argmax(means))})
    mixture = cvxpy.Variable(len(rivals), nonneg=True)
    shares = [mixture[i] for i in range(len(rivals))]
    moves = [cvxpy.Variable(len(means)) for _ in rivals]
    level = cvxpy.Variable()
    constraints: list[Any] = [cvxpy.sum(mixture) == 1]
    for arm in range(len(means)):
        moved = sum(
            cvxpy.quad_over_lin(move[arm], share)
            for move, share in zip(moves, shares, strict=True)
        )
        constraints.append(level >= moved / (2 * NOISE**2))
    for rival, move, share in zip(rivals, moves, shares, strict=True):
        for arm in range(len(means)):
            if arm != rival:
                lead = share * (means[rival] - means[arm]) + move[rival] - move[arm]
                constraints.append(lead >= share * gap)
    problem = cvxpy.Problem(cvxpy.Minimize(level), constraints)
    problem.solve(solver="CLARABEL")
    return 1 / cast(float, problem.value)


def test_the_exact_characteristic_time_lies_between_the_bounds():
    for means, gap in bandits():
        bounds = minimum_gap_bounds(jnp.asarray(means), gap, NOISE, ERROR_PROB)
        queries = exact_time(means, gap) * float(kl_error_prob(ERROR_PROB))
        assert float(bounds.lower) <= queries * (1 + 1e-6)
        assert queries <= float(bounds.upper) * (1 + 1e-6)
        assert float(bounds.lower) < float(bounds.upper)


def test_the_closed_form_allocation_attains_the_upper_bound():
    for means, gap in bandits():
        weights = minimum_gap_proportions(jnp.asarray(means), gap)
        assert float(jnp.sum(weights)) == pytest.approx(1.0, rel=1e-14)
        bounds = minimum_gap_bounds(jnp.asarray(means), gap, NOISE, ERROR_PROB)
        evidence = information(np.asarray(weights), means, gap)
        queries = float(kl_error_prob(ERROR_PROB)) / evidence
        assert queries <= float(bounds.upper) * (1 + 1e-6)


def test_equal_gaps_give_the_hand_computed_bounds():
    # Both gaps 1, minimum gap 1/2: 1 / max(1/4, 1/2) and 2 (1/(1/2)^2 + 2/(3/2)^2).
    bounds = minimum_gap_bounds(jnp.array([0.0, 1.0, 0.0]), 0.5, NOISE, ERROR_PROB)
    unit = 2 * NOISE**2 * float(kl_error_prob(ERROR_PROB))
    assert float(bounds.lower) == pytest.approx(2 * unit, rel=1e-12)
    assert float(bounds.upper) == pytest.approx(2 * unit * (4 + 8 / 9), rel=1e-12)
    weights = minimum_gap_proportions(jnp.array([0.0, 1.0, 0.0]), 0.5)
    np.testing.assert_allclose(weights, np.array([1, 9, 1]) / 11, rtol=1e-12)
