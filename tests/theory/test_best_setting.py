"""The posterior of the best setting, against integrals done the long way."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import trapezoid

from icpe.theory.best_setting import (
    Outcomes,
    best_setting_log_posterior,
    one_noise,
    possible_noises,
)

SCALES = (1.0, 4.0)
LEVELS = np.linspace(-12.0, 40.0, 401)
EXCESSES = np.linspace(0.0, 45.0, 1801)


def slow_posterior(outcomes, noise_weights):
    """By sums over the level of the best and the excess, from the outcomes themselves.

    `noise_weights` are pairs of a noise and its prior probability.
    """
    prior = sum(np.exp(-EXCESSES / s) / s for s in SCALES) / len(SCALES)
    total = np.zeros(len(outcomes))
    for noise, weight in noise_weights:

        def likelihood(mean, values, noise=noise):
            squares = sum((value - mean) ** 2 for value in values)
            density = (np.sqrt(2 * np.pi) * noise) ** -len(values)
            return density * np.exp(-0.5 * (squares + 0 * mean) / noise**2)

        behind = np.array(
            [
                trapezoid(
                    likelihood(LEVELS[:, None] - 1.0 - EXCESSES, values) * prior,
                    EXCESSES,
                    axis=1,
                )
                for values in outcomes
            ]
        )
        for best, values in enumerate(outcomes):
            others = np.delete(behind, best, axis=0).prod(axis=0)
            total[best] += weight * trapezoid(likelihood(LEVELS, values) * others)
    return total / total.sum()


def summary(outcomes):
    values = [np.asarray(it, float) for it in outcomes]
    means = [it.mean() if len(it) else 0.0 for it in values]
    squares = [((it - mean) ** 2).sum() for it, mean in zip(values, means, strict=True)]
    counts = jnp.asarray([len(it) for it in values])
    return Outcomes(counts, jnp.asarray(means, jnp.float32), jnp.float32(squares))


CASES = [
    [[0.0], [1.5]],
    [[0.0, 0.4, -0.3], [1.1, 2.0], []],
    [[0.0], [3.0, 2.0], [2.5, 2.1, 2.2], [-8.0]],
]


@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("outcomes", CASES)
def test_with_a_known_noise(outcomes, noise):
    found = best_setting_log_posterior(
        summary(outcomes),
        jnp.ones(len(outcomes), bool),
        one_noise(jnp.float32(noise)),
        scales=SCALES,
    )
    slow = slow_posterior(outcomes, [(noise, 1.0)])
    np.testing.assert_allclose(np.exp(found), slow, atol=1e-3)


@pytest.mark.parametrize("outcomes", CASES)
def test_with_a_noise_that_repeats_tell(outcomes):
    seen = summary(outcomes)
    found = best_setting_log_posterior(
        seen,
        jnp.ones(len(outcomes), bool),
        possible_noises(seen, 0.5, 4.0),
        scales=SCALES,
    )
    noises = np.geomspace(0.5, 4.0, 15)
    weights = np.ones(15)
    weights[[0, -1]] = 0.5
    slow = slow_posterior(outcomes, list(zip(noises, weights, strict=True)))
    np.testing.assert_allclose(np.exp(found), slow, atol=5e-3)


def test_settings_that_do_not_exist_are_never_best():
    seen = summary([[0.0], [2.0], []])
    exists = jnp.array([True, True, False])
    found = best_setting_log_posterior(
        seen, exists, one_noise(jnp.float32(1.0)), scales=SCALES
    )
    without = best_setting_log_posterior(
        summary([[0.0], [2.0]]), exists[:2], one_noise(jnp.float32(1.0)), scales=SCALES
    )
    assert np.isneginf(found[2])
    np.testing.assert_allclose(found[:2], without, atol=1e-6)


def test_before_the_first_outcome_all_are_equal():
    seen = summary([[], [], []])
    exists = jnp.array([True, True, False])
    found = best_setting_log_posterior(
        seen, exists, one_noise(jnp.float32(1.0)), scales=SCALES
    )
    np.testing.assert_allclose(np.exp(found), [0.5, 0.5, 0.0], atol=1e-6)
