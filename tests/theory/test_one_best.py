"""The one arm that stands out: belief and gains, against plain sums."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from icpe.theory.one_best import one_best_information_gains, one_best_log_posterior

BELIEFS = np.random.default_rng(0).dirichlet(np.ones(3), 2)
GRAPH = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.8, 1.0]])

information_gains = jax.jit(one_best_information_gains, static_argnums=2)


def plain_gain(probs, reveal, contrast):
    """Sums over what is revealed and a grid over each log-likelihood ratio."""
    z = np.linspace(-7, 7, 71)
    weights = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    gain = 0.0
    for revealed in itertools.product((False, True), repeat=3):
        chance = np.prod(np.where(revealed, reveal, 1 - reveal))
        for h in range(3):
            ratios = [
                (contrast**2 * ((k == h) - 0.5) + contrast * z) * revealed[k]
                for k in range(3)
            ]
            grids = np.meshgrid(*ratios, indexing="ij")
            mixed = np.log(sum(probs[k] * np.exp(grids[k]) for k in range(3)))
            joint = np.einsum("i,j,k->ijk", weights, weights, weights)
            gain += chance * probs[h] * np.sum(joint * (grids[h] - mixed))
    return gain


@pytest.mark.parametrize("contrast", [0.5, 2.5])
def test_gains_agree_with_sums_over_everything_that_may_be_revealed(contrast):
    for probs in BELIEFS:
        truth = [plain_gain(probs, reveal, contrast) for reveal in GRAPH]
        with jax.enable_x64(True):
            double = information_gains(jnp.log(probs), jnp.asarray(GRAPH), contrast)
        np.testing.assert_allclose(double, truth, atol=1e-6)
        single = information_gains(
            jnp.log(jnp.asarray(probs, jnp.float32)),
            jnp.asarray(GRAPH, jnp.float32),
            contrast,
        )
        np.testing.assert_allclose(single, truth, atol=5e-6)


def test_a_certain_belief_has_nothing_to_gain():
    gains = information_gains(
        jnp.log(jnp.asarray([0.0, 1.0, 0.0])), jnp.asarray(GRAPH, jnp.float32), 2.5
    )
    np.testing.assert_allclose(gains, 0.0, atol=5e-6)


@pytest.mark.slow
def test_clear_rewards_of_all_arms_tell_everything():
    gains = one_best_information_gains(
        jnp.log(jnp.full(4, 0.25)), jnp.ones((1, 4)), 20.0
    )
    np.testing.assert_allclose(gains, np.log(4), rtol=1e-3)


def test_posterior_is_the_product_of_normal_densities():
    counts, sums = np.array([2, 0, 1]), np.array([1.7, 0.0, 0.4])
    rewards = [[0.9, 0.8], [], [0.4]]
    weights = [
        np.prod(
            [
                stats.norm.pdf(reward, 1.0 if k == best else 0.5, 0.2)
                for k in range(3)
                for reward in rewards[k]
            ]
        )
        for best in range(3)
    ]
    got = one_best_log_posterior(
        jnp.asarray(counts),
        jnp.asarray(sums, jnp.float32),
        high=1.0,
        low=0.5,
        noise=0.2,
    )
    np.testing.assert_allclose(
        np.exp(got), np.divide(weights, np.sum(weights)), rtol=1e-4
    )
