import decimal
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from icpe.theory.divergences import (
    entropy,
    kl_bernoulli,
    kl_error_prob,
    kl_gaussian,
)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def exact_kl_bernoulli(p: float, q: float) -> float:
    """Sixty decimal digits, so that nothing cancels."""
    with decimal.localcontext() as context:
        context.prec = 60
        a, b = decimal.Decimal(p), decimal.Decimal(q)
        return float(a * (a / b).ln() + (1 - a) * ((1 - a) / (1 - b)).ln())


@pytest.mark.parametrize("distance", [1e-12, 1e-7, 1e-3, 0.0029, 0.0031, 0.05, 0.3])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.69])
def test_bernoulli_kl_has_all_its_digits_however_close_the_means(p, distance):
    q = p + distance
    got = kl_bernoulli(jnp.asarray(p), jnp.asarray(q))
    assert float(got) == pytest.approx(exact_kl_bernoulli(p, q), rel=1e-12)
    back = kl_bernoulli(jnp.asarray(q), jnp.asarray(p))
    assert float(back) == pytest.approx(exact_kl_bernoulli(q, p), rel=1e-12)


def test_bernoulli_kl_is_exact_at_the_edges():
    p = jnp.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.3, 0.3])
    q = jnp.array([0.0, 1.0, 0.4, 0.4, 1.0, 0.0, 0.0, 1.0])
    expected = [0.0, 0.0, -math.log(0.6), -math.log(0.4), *(4 * [math.inf])]
    np.testing.assert_allclose(kl_bernoulli(p, q), expected, rtol=1e-14)


def test_bernoulli_kl_has_finite_gradients_at_equal_means():
    gradient = jax.grad(lambda p: kl_bernoulli(p, jnp.asarray(0.3)))(jnp.asarray(0.3))
    assert float(gradient) == 0.0


def test_gaussian_kl_agrees_with_integration():
    for mean_p, mean_q, noise in [(0.3, -0.4, 1.2), (0.0, 0.2, 0.5)]:

        def integrand(x, p=mean_p, q=mean_q, noise=noise):
            ratio = stats.norm.logpdf(x, p, noise) - stats.norm.logpdf(x, q, noise)
            return stats.norm.pdf(x, p, noise) * ratio

        truth, _ = integrate.quad(integrand, -12, 12)
        got = kl_gaussian(jnp.asarray(mean_p), jnp.asarray(mean_q), noise)
        assert float(got) == pytest.approx(truth, rel=1e-9)


def test_error_prob_divergence_is_the_bernoulli_kl():
    for delta in (1e-9, 0.01, 0.1, 0.4):
        expected = exact_kl_bernoulli(1 - delta, delta)
        assert float(kl_error_prob(delta)) == pytest.approx(expected, rel=1e-7)
    assert float(kl_error_prob(0.5)) == 0.0


def test_entropy_ignores_impossible_outcomes():
    probs = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    expected = special.entr(probs).sum(1)
    np.testing.assert_allclose(entropy(jnp.asarray(probs)), expected, rtol=1e-14)
