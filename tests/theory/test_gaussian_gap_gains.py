"""Expected information of one more Gaussian reward, against plain integration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import entr

from icpe.theory.gaussian_gap_gains import best_arm_information_gains, rewards_needed
from icpe.theory.information_directed import two_pull_first_gains

NOISE, RANGE = 0.5, 1.2


def evidence(rewards, min_gap):
    """Density of the rewards together with each best arm; Simpson's rule."""
    x = np.linspace(0.0, RANGE - min_gap, 801)

    def likelihood(mean, seen):
        return np.prod([stats.norm.pdf(r, mean, NOISE) for r in seen], axis=0) + 0 * x

    lead = [likelihood(x + min_gap, seen) for seen in rewards]
    below = [
        integrate.cumulative_simpson(likelihood(x, seen), x=x, initial=0.0)
        for seen in rewards
    ]
    joint = [
        lead[k] * np.prod(below[:k] + below[k + 1 :], axis=0)
        for k in range(len(rewards))
    ]
    return integrate.simpson(np.stack(joint), x=x, axis=1)


def plain_gain(rewards, arm, min_gap, weights):
    """Entropy of the best arm and of the next reward, less that of both."""
    nodes, widths = np.polynomial.legendre.leggauss(60)
    joint = []
    for y, width in zip(0.6 + 4.0 * nodes, 4.0 * widths, strict=True):
        more = [[*seen, y] if k == arm else seen for k, seen in enumerate(rewards)]
        joint.append(width * weights * evidence(more, min_gap))
    joint = np.stack(joint) / np.sum(joint)
    return entr(joint.sum(0)).sum() + entr(joint.sum(1)).sum() - entr(joint).sum()


def gains(rewards, min_gap, **options):
    counts = jnp.asarray([len(seen) for seen in rewards])
    sums = jnp.asarray([float(sum(seen)) for seen in rewards])
    return np.asarray(
        best_arm_information_gains(
            counts, sums, min_gap=min_gap, noise=NOISE, mean_range=RANGE, **options
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("min_gap", [0.0, 0.4])
def test_gains_are_the_mutual_information(min_gap):
    rewards = [[0.7, 1.3, 0.9], [1.1], []]
    weights = np.array([0.5, 1.0, 2.0])
    truth = [plain_gain(rewards, arm, min_gap, weights) for arm in range(3)]
    with jax.enable_x64(True):
        double = gains(rewards, min_gap, log_weights=jnp.log(jnp.asarray(weights)))
    np.testing.assert_allclose(double, truth, rtol=2e-5)
    log_weights = jnp.log(jnp.asarray(weights, jnp.float32))
    single = gains(rewards, min_gap, log_weights=log_weights)
    np.testing.assert_allclose(single, truth, rtol=1e-3)


@pytest.mark.slow
def test_a_first_reward_tells_what_the_two_pull_bandit_says():
    with jax.enable_x64(True):
        got = best_arm_information_gains(
            jnp.zeros(5, int), jnp.zeros(5), min_gap=0.0, noise=1.0, mean_range=1.0
        )
    np.testing.assert_allclose(got, two_pull_first_gains(6).fresh, rtol=1e-5)


@pytest.mark.slow
def test_arms_that_do_not_exist_change_nothing_and_tell_nothing():
    rewards = [[0.7, 1.3], [1.1], []]
    padded = [*rewards, [], []]
    exists = jnp.asarray([True, True, True, False, False])
    got = gains(padded, 0.4, exists=exists)
    np.testing.assert_allclose(got[:3], gains(rewards, 0.4), rtol=1e-4)
    np.testing.assert_array_equal(got[3:], 0.0)


@pytest.mark.slow
def test_a_noisier_next_reward_tells_less():
    rewards = [[0.7, 1.3], [1.1], []]
    assert np.all(gains(rewards, 0.4, next_noise=1.0) < gains(rewards, 0.4))


def test_nodes_are_asked_for_by_the_range_in_standard_deviations():
    assert rewards_needed(0.5, 4.0) == 18
    assert rewards_needed(10.0, 1.0) == 16
    assert rewards_needed(1e-3, 1.0) == 96
