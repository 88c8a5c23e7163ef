import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from icpe.theory.gaussian_best_arm import flat_prior_best_arm


def by_integration(means, deviations):
    def best(i):
        def density(x):
            others = [
                norm.cdf(x, m, s)
                for j, (m, s) in enumerate(zip(means, deviations, strict=True))
                if j != i
            ]
            return norm.pdf(x, means[i], deviations[i]) * np.prod(others)

        return quad(density, -10, 10, limit=400)[0]

    return np.array([best(i) for i in range(len(means))])


@pytest.mark.parametrize(
    ("means", "deviations", "tolerance"),
    [
        ([0.0, 0.3, -0.2, 0.1], [0.5, 0.2, 0.5, 0.6], 1e-4),
        ([1.0, 0.9, 0.2, 0.0], [0.1, 0.3, 0.2, 1.0], 2e-3),
    ],
)
def test_probabilities_agree_with_integration(means, deviations, tolerance):
    with jax.enable_x64(True):
        got = jax.jit(flat_prior_best_arm)(jnp.array(means), jnp.array(deviations))
    np.testing.assert_allclose(got, by_integration(means, deviations), atol=tolerance)
