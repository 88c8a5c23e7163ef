import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from icpe.theory.max_min import maximize_minimum


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def start(size):
    return jnp.full(size, 1.0 / size)


def game_value(payoff):
    """The value of a matrix game by linear programming."""
    num_rows, num_columns = payoff.shape
    answer = optimize.linprog(
        np.append(np.zeros(num_columns), -1.0),
        A_ub=np.hstack([-payoff, np.ones((num_rows, 1))]),
        b_ub=np.zeros(num_rows),
        A_eq=np.append(np.ones(num_columns), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * num_columns + [(None, None)],
    )
    return -answer.fun


def test_linear_functions_give_the_value_of_a_matrix_game():
    solve = jax.jit(
        lambda payoff: maximize_minimum(
            lambda w: payoff @ w, start(4), jnp.ones(5, bool)
        )
    )
    for seed in range(6):
        payoff = np.random.default_rng(seed).uniform(0.1, 1.0, size=(5, 4)) ** 3
        got, truth = solve(jnp.asarray(payoff)), game_value(payoff)
        assert float(got.value) == pytest.approx(truth, rel=1e-7)
        assert float(got.value) <= truth + 1e-9 <= float(got.upper_bound) + 2e-9
        assert float(jnp.sum(got.point)) == pytest.approx(1.0, rel=1e-12)


def test_functions_that_do_not_count_are_left_out():
    def functions(w):
        return jnp.array([1.0, 3.0, 0.001]) * w

    active = jnp.array([True, True, False])
    got = maximize_minimum(functions, start(3), active)
    np.testing.assert_allclose(got.point, [0.75, 0.25, 0.0], atol=1e-7)
    assert float(got.value) == pytest.approx(0.75, rel=1e-7)


def test_a_function_that_vanishes_everywhere_gives_zero():
    def functions(w):
        return jnp.array([1.0, 0.0]) * w

    got = maximize_minimum(functions, start(2), jnp.ones(2, bool))
    assert float(got.value) == 0.0 and float(got.upper_bound) == 0.0
    np.testing.assert_array_equal(got.point, [0.5, 0.5])
