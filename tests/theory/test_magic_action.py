from typing import Any, cast

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.theory.magic_action import (
    magic_action_information,
    magic_action_time,
    magic_action_upper_bound,
    magic_arm_alone_is_optimal,
)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def code(num_arms):
    return np.arange(1, num_arms + 1) / num_arms


def oracle(means, magic_noise, noise):
    """T* by duality, straight from the set of alternatives: no confusing sets.

    A mixture q over the rivals and u_a = q_a (mu'_a - mu), jointly convex.
    """
    num_arms, codes = len(means), code(len(means))
    best = 1 + int(np.argmax(means[1:]))
    rivals = [arm for arm in range(1, num_arms) if arm != best]
    mixture = cvxpy.Variable(len(rivals), nonneg=True)
    shares = [mixture[i] for i in range(len(rivals))]
    moves = [cvxpy.Variable(num_arms) for _ in rivals]
    level = cvxpy.Variable()
    distances = (codes[best] - codes[rivals]) ** 2 / (2 * magic_noise**2)
    constraints: list[Any] = [
        cvxpy.sum(mixture) == 1,
        level >= distances @ mixture,
    ]
    for arm in range(1, num_arms):
        moved = sum(
            cvxpy.quad_over_lin(move[arm], share)
            for move, share in zip(moves, shares, strict=True)
        )
        constraints.append(level >= moved / (2 * noise**2))
    for rival, move, share in zip(rivals, moves, shares, strict=True):
        height = share * means[rival] + move[rival]
        constraints.append(height >= share * codes.max())
        for arm in range(1, num_arms):
            constraints.append(height >= share * means[arm] + move[arm])
    problem = cvxpy.Problem(cvxpy.Minimize(level), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return 1 / cast(float, problem.value)


def literal_information(weights, means, magic_noise, noise):
    """The theorem as printed, with its confusing sets, arm by arm."""
    num_arms, codes = len(means), code(len(means))
    best = 1 + int(np.argmax(means[1:]))
    values = np.full(num_arms, np.inf)

    def average(arms):
        arms = list(arms)
        return weights[arms] @ means[arms] / weights[arms].sum()

    for rival in set(range(1, num_arms)) - {best}:
        confusing = {rival}
        for arm in range(1, num_arms):
            above = {
                other for other in range(1, num_arms) if means[other] >= means[arm]
            }
            if means[arm] >= average(above | {rival}) and means[arm] >= codes.max():
                confusing.add(arm)
        level = average(confusing)
        values[rival] = weights[0] * (codes[best] - codes[rival]) ** 2 / (
            2 * magic_noise**2
        ) + sum(
            weights[arm] * (means[arm] - level) ** 2 / (2 * noise**2)
            for arm in confusing
        )
    return values


def test_information_is_the_printed_expression():
    rng = np.random.default_rng(0)
    evaluate = jax.jit(magic_action_information)
    for _ in range(50):
        means, weights = rng.uniform(1, 5, size=6), rng.dirichlet(np.ones(6))
        arrays = jnp.asarray(weights), jnp.asarray(means), jnp.asarray(code(6))
        got = evaluate(*arrays, 0.3, 0.7)
        expected = literal_information(weights, means, 0.3, 0.7)
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("magic_noise", [0.15, 0.5, 0.8])
def test_time_agrees_with_convex_programming(magic_noise):
    rng = np.random.default_rng(1)
    for low in (0.0, 1.0, 1.0):
        means = rng.uniform(low, 3.0, size=5)
        means[3] += 0.3
        got = magic_action_time(
            jnp.asarray(means), jnp.asarray(code(5)), magic_noise, 1 - magic_noise
        )
        truth = oracle(means, magic_noise, 1 - magic_noise)
        assert float(got.time) == pytest.approx(truth, rel=1e-6)


def test_corollary_bounds_the_time_and_is_reached_when_magic_alone_is_best():
    means, codes = jnp.array([0.0, 1.2, 2.0, 1.9, 1.4]), jnp.asarray(code(5))
    bound = magic_action_upper_bound(jnp.asarray(2), codes, 0.5)
    assert float(bound) == pytest.approx(2 * 0.25 / 0.2**2, rel=1e-12)
    mixed = magic_action_time(means, codes, 0.5, 0.05)
    assert float(mixed.time) < 0.9 * float(bound)
    hopeless = magic_action_time(means, codes, 0.5, 50.0)
    assert float(hopeless.time) == pytest.approx(float(bound), rel=1e-6)
    assert float(hopeless.proportions[0]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("best", [2, 5, 7])
def test_corollary_is_as_printed_for_the_reciprocal_code(best):
    # Arms are 1..7 in the paper; the nearest code is that of the next arm if any.
    codes, noise = 1 / jnp.arange(1.0, 8.0), 0.3
    neighbor = best - 1 if best == 7 else best + 1
    got = magic_action_upper_bound(jnp.asarray(best - 1), codes, noise)
    assert float(got) == pytest.approx(2 * noise**2 * (best * neighbor) ** 2, rel=1e-9)


@pytest.mark.slow
def test_three_arms_use_the_magic_arm_alone_or_not_at_all():
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(12):
        means = jnp.asarray(rng.uniform(1.0, 3.0, size=3))
        magic_noise = rng.uniform(0.2, 0.8)
        arguments = means, jnp.asarray(code(3)), magic_noise, 1 - magic_noise
        alone = bool(magic_arm_alone_is_optimal(*arguments))
        share = float(magic_action_time(*arguments).proportions[0])
        assert share == pytest.approx(float(alone), abs=1e-5)
        seen.add(alone)
    assert seen == {False, True}


def test_without_noise_one_arm_reveals_at_once():
    means, codes = jnp.array([0.0, 2.0, 3.0, 1.0, 1.5]), jnp.asarray(code(5))
    exact = magic_action_time(means, codes, 0.0, 1.0)
    assert float(exact.time) == 0.0
    np.testing.assert_array_equal(exact.proportions, [1, 0, 0, 0, 0])
    regular = magic_action_time(means, codes, 1.0, 0.0)
    assert float(regular.time) == 0.0
    assert not jnp.any(jnp.isnan(regular.proportions))


def test_two_arms_are_refused():
    with pytest.raises(InvalidParameterError, match="at least 3 entries"):
        magic_action_time(jnp.ones(2), jnp.ones(2), 1.0, 1.0)
