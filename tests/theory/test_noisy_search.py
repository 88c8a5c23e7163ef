import jax
import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.theory.finite_model import hypothesis_log_posterior, update
from icpe.theory.noisy_search import noisy_search_model

SIZE = 7


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def posterior(model, history):
    log_weights = model.log_prior
    for guess, sign in history:
        log_weights = update(
            model, log_weights, jnp.asarray(guess), jnp.asarray(sign + 1)
        )
    return np.exp(hypothesis_log_posterior(model, log_weights))


def test_posterior_multiplies_the_chances_of_right_and_wrong_answers():
    history = [(3, 1), (5, -1), (3, -1), (4, 0), (5, -1)]
    expected = np.ones(SIZE)
    for number in range(SIZE):
        for guess, sign in history:
            right = np.sign(number - guess) == sign
            expected[number] *= 0.8 if right else 0.1
    got = posterior(noisy_search_model(SIZE, 0.2), history)
    np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-12)


def test_without_errors_it_is_an_interval():
    got = posterior(noisy_search_model(SIZE, 0.0), [(1, 1), (5, -1)])
    np.testing.assert_allclose(got, [0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0], rtol=1e-12)


@pytest.mark.parametrize(("size", "error_prob"), [(1, 0.1), (8, -0.1), (8, 1.5)])
def test_impossible_parameters_are_refused(size, error_prob):
    with pytest.raises(InvalidParameterError, match="must"):
        noisy_search_model(size, error_prob)
