import itertools
from fractions import Fraction
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.bernoulli_best_arm import bernoulli_best_arm_log_posterior

log_posterior = jax.jit(
    bernoulli_best_arm_log_posterior, static_argnames=("min_gap", "num_panels")
)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def posterior(alpha, beta, **options):
    arrays = jnp.asarray(alpha, float), jnp.asarray(beta, float)
    return np.exp(log_posterior(*arrays, **options))


def integrate_beta(function, low, high, alpha, beta):
    """Adaptive quadrature, split around the bulk of a Beta law."""
    mean, spread = stats.beta.mean(alpha, beta), stats.beta.std(alpha, beta)
    inner = np.clip(mean + spread * np.arange(-8, 9, 2), low, high)
    ends = [low, *np.unique(inner), high]
    return sum(
        integrate.quad(function, a, b, epsabs=1e-13, epsrel=1e-10)[0]
        for a, b in itertools.pairwise(ends)
        if a < b
    )


def oracle(alpha, beta, gap):
    """P(best) by adaptive integration with an independent distribution function."""
    scores = []
    for k in range(len(alpha)):
        others = [j for j in range(len(alpha)) if j != k]

        def integrand(x, k=k, others=others):
            below = [stats.beta.cdf(x - gap, alpha[j], beta[j]) for j in others]
            return stats.beta.pdf(x, alpha[k], beta[k]) * np.prod(below)

        scores.append(integrate_beta(integrand, gap, 1.0, alpha[k], beta[k]))
    return np.array(scores) / sum(scores)


@pytest.mark.parametrize("gap", [0.0, 0.15])
@pytest.mark.parametrize("num_pulls", [4, 60, 500])
def test_posterior_agrees_with_adaptive_integration(num_pulls, gap):
    rng = np.random.default_rng(num_pulls)
    pulls = rng.integers(0, num_pulls + 1, size=3)
    center = rng.uniform(0.3, 0.7)
    rates = center + rng.uniform(-1.5, 1.5, size=3) / np.sqrt(num_pulls + 25)
    successes = rng.binomial(pulls, rates)
    alpha, beta = 1.0 + successes, 1.0 + pulls - successes
    got = posterior(alpha, beta, min_gap=gap)
    np.testing.assert_allclose(got, oracle(alpha, beta, gap), atol=1e-9)


def test_two_arms_with_whole_numbers_have_an_exact_sum():
    # P(X > Y) = sum over i < a of B(i + c, b + d) / ((b + i) B(1 + i, b) B(c, d)) for
    # X ~ Beta(a, b), Y ~ Beta(c, d); with binomials it is rational.
    def beta_function(a, b):
        return Fraction(1, a * comb(a + b - 1, a))

    a, b, c, d = 7, 4, 5, 6
    exact = sum(
        beta_function(i + c, b + d)
        / ((b + i) * beta_function(1 + i, b) * beta_function(c, d))
        for i in range(a)
    )
    got = posterior([a, c], [b, d])
    np.testing.assert_allclose(got, [float(exact), 1 - float(exact)], rtol=1e-12)


def test_without_data_all_arms_are_alike_and_order_does_not_matter():
    np.testing.assert_allclose(posterior(np.ones(5), np.ones(5)), 0.2, rtol=1e-12)
    alpha, beta = np.array([3.0, 9.0, 1.0]), np.array([4.0, 8.0, 2.0])
    order = [2, 0, 1]
    got = posterior(alpha[order], beta[order], min_gap=0.1)
    np.testing.assert_allclose(got, posterior(alpha, beta, min_gap=0.1)[order])


def test_jeffreys_prior_is_integrable_at_the_edges():
    got = posterior([0.5, 0.5], [0.5, 0.5])
    np.testing.assert_allclose(got, 0.5, rtol=1e-10)
    # One success: P(X > Y) = 1/2 + 2/pi^2 for Beta(3/2, 1/2) against Beta(1/2, 1/2).
    got = posterior([1.5, 0.5], [0.5, 0.5])
    assert got[0] == pytest.approx(0.5 + 2 / np.pi**2, rel=1e-10)


def test_single_precision_and_overwhelming_evidence():
    alpha, beta = jnp.array([400.0, 20.0, 1.0]), jnp.array([20.0, 400.0, 1.0])
    got = log_posterior(alpha.astype(jnp.float32), beta.astype(jnp.float32))
    wide = log_posterior(alpha, beta)
    assert jnp.all(jnp.isfinite(got)) and got.dtype == jnp.float32
    np.testing.assert_allclose(np.exp(got), np.exp(wide), atol=1e-6)


def test_an_impossible_gap_is_refused():
    with pytest.raises(InvalidParameterError, match="min_gap must be"):
        bernoulli_best_arm_log_posterior(jnp.ones(2), jnp.ones(2), min_gap=1.0)
