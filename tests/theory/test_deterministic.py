import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from icpe.theory.deterministic import revealed_best_log_posterior


def posterior(tried, values, exists=None):
    return np.exp(
        revealed_best_log_posterior(
            jnp.asarray(tried),
            jnp.asarray(values, jnp.float32),
            None if exists is None else jnp.asarray(exists),
        )
    )


@pytest.mark.parametrize("largest", [0.1, 0.5, 0.97])
def test_posterior_agrees_with_integration_over_the_untried_means(largest):
    tried = [True, False, True, False, False]
    values = [largest / 2, 0.99, largest, 0.3, 0.0]
    # An untried arm at x is best if x leads and both other untried arms are below x.
    untried, _ = integrate.quad(lambda x: x**2, largest, 1)
    expected = [0, untried, largest**3, untried, untried]
    np.testing.assert_allclose(posterior(tried, values), expected, rtol=1e-5)


def test_nothing_revealed_is_uniform():
    np.testing.assert_allclose(posterior([False] * 4, [0.0] * 4), 0.25, rtol=1e-6)


@pytest.mark.parametrize("number_tried", [0, 1, 2, 3])
def test_arms_that_there_are_not_change_nothing(number_tried):
    tried, values = np.arange(3) < number_tried, [0.4, 0.7, 0.2]
    exists = [True] * 3 + [False] * 2
    padded = posterior([*tried, False, False], [*values, 0.0, 0.0], exists)
    np.testing.assert_array_equal(padded[:3], posterior(tried, values))
    assert padded[3:].tolist() == [0, 0]


def test_everything_revealed_is_certain():
    assert posterior([True] * 3, [0.2, 0.9, 0.8]).tolist() == [0, 1, 0]


def test_all_zero_means_are_certain_once_all_are_revealed():
    assert posterior([True] * 3, [0.0, 0.0, 0.0]).tolist() == [1, 0, 0]


def test_a_perfect_arm_is_certain_at_once():
    assert posterior([True, False], [1.0, 0.0]).tolist() == [1, 0]


def test_a_worthless_arm_is_ruled_out_at_once():
    np.testing.assert_allclose(
        posterior([True, False, False], [0.0] * 3), [0, 0.5, 0.5], rtol=1e-6
    )
