import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from icpe.theory.gaussian_gap import best_arm_log_posterior, nodes_needed

GAP, NOISE = 0.4, 0.5


def best(counts, sums, mean_range, min_gap=GAP, noise=NOISE):
    return best_arm_log_posterior(
        counts,
        sums,
        min_gap=min_gap,
        noise=noise,
        mean_range=mean_range,
        num_nodes=nodes_needed(min_gap, noise, 100),
    )


def posterior(counts, sums, mean_range, **parameters):
    """The posterior in float64."""
    with jax.enable_x64(True):
        counts, sums = jnp.asarray(counts), jnp.asarray(sums, jnp.float64)
        return np.exp(best(counts, sums, mean_range, **parameters))


def likelihoods(counts, sums, noise=NOISE):
    """The density of each arm's sample mean as a function of the arm's mean."""

    def likelihood(count, total):
        if count == 0:
            return lambda mean: 1.0
        center, sd = total / count, noise / np.sqrt(count)
        return lambda mean: stats.norm.pdf(mean, center, sd)

    return [likelihood(*arm) for arm in zip(counts, sums, strict=True)]


def on_a_grid(counts, sums, mean_range, min_gap=GAP, noise=NOISE):
    """Simpson's rule for every integral, on a grid much finer than any likelihood."""
    x = np.linspace(0.0, mean_range - min_gap, 20001)
    arms = likelihoods(counts, sums, noise)
    lead = [arm(x + min_gap) * np.ones_like(x) for arm in arms]
    below = [
        integrate.cumulative_simpson(arm(x) * np.ones_like(x), x=x, initial=0.0)
        for arm in arms
    ]
    joint = [
        lead[k] * np.prod(below[:k] + below[k + 1 :], axis=0) for k in range(len(arms))
    ]
    weights = integrate.simpson(np.stack(joint), x=x, axis=1)
    return weights / np.sum(weights)


def over_both_means(high_arm, low_arm, top):
    """Integral over both uniforms where the first is the larger."""
    return integrate.dblquad(
        lambda low, high: high_arm(high + GAP) * low_arm(low), 0, top, 0, lambda x: x
    )[0]


def test_two_arms_agree_with_the_integral_over_both_means():
    rng = np.random.default_rng(0)
    for _ in range(4):
        counts = rng.integers(0, 6, 2)
        sums = counts * rng.uniform(0, 0.8, 2)
        one, two = likelihoods(counts, sums)
        weights = [over_both_means(one, two, 0.4), over_both_means(two, one, 0.4)]
        np.testing.assert_allclose(
            posterior(counts, sums, 0.8), weights / np.sum(weights), atol=1e-6
        )


@pytest.mark.parametrize("seed", range(4))
def test_three_arms_agree_with_integration_on_a_grid(seed):
    rng = np.random.default_rng(seed)
    mean_range = 1.2
    counts = rng.integers(0, 8, 3)
    sums = counts * rng.uniform(-0.2, mean_range + 0.2, 3)
    np.testing.assert_allclose(
        posterior(counts, sums, mean_range),
        on_a_grid(counts, sums, mean_range),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("counts", "means"),
    [
        ((100, 0, 0), (3.1, 0.0, 0.0)),
        ((0, 100, 1), (0.0, 0.1, 0.6)),
        ((49, 49, 2), (4.0, 3.9, 4.2)),
        ((100, 1, 1), (5.7, 5.9, 5.2)),
    ],
)
def test_narrow_likelihoods_on_a_wide_range_are_resolved(counts, means):
    sums = np.multiply(counts, means)
    np.testing.assert_allclose(
        posterior(counts, sums, 5.6), on_a_grid(counts, sums, 5.6), atol=1e-6
    )


@pytest.mark.parametrize(("min_gap", "noise"), [(0.0, 0.5), (2.0, 0.2)])
def test_other_gaps_and_noises_agree_with_integration_on_a_grid(min_gap, noise):
    counts, means = (3, 2, 0), (1.0, 1.3, 0.0)
    sums = np.multiply(counts, means)
    given = {"min_gap": min_gap, "noise": noise}
    np.testing.assert_allclose(
        posterior(counts, sums, 2.4, **given),
        on_a_grid(counts, sums, 2.4, **given),
        atol=1e-6,
    )


def test_without_data_all_arms_are_equally_probable():
    np.testing.assert_allclose(posterior([0] * 5, [0.0] * 5, 2.0), 0.2, rtol=1e-12)


def test_a_permutation_of_the_arms_permutes_the_posterior():
    rng = np.random.default_rng(1)
    counts, order = rng.integers(0, 20, 7), rng.permutation(7)
    sums = counts * rng.uniform(0, 2.8, 7)
    np.testing.assert_allclose(
        posterior(counts[order], sums[order], 2.8),
        posterior(counts, sums, 2.8)[order],
        atol=1e-12,
    )


@pytest.mark.slow
def test_single_precision_agrees_with_double_after_a_hundred_pulls():
    rng = np.random.default_rng(2)
    num_cases, num_arms, mean_range = 60, 14, 5.6
    means = rng.uniform(0, mean_range - GAP, (num_cases, num_arms))
    means[np.arange(num_cases), means.argmax(1)] += GAP
    shares = rng.dirichlet(np.full(num_arms, 0.3), num_cases)
    counts = np.stack([rng.multinomial(100, share) for share in shares])
    sums = counts * means + NOISE * np.sqrt(counts) * rng.normal(size=means.shape)
    batched = jax.jit(jax.vmap(lambda counts, sums: best(counts, sums, mean_range)))
    single = batched(jnp.asarray(counts), jnp.asarray(sums, jnp.float32))
    assert single.dtype == jnp.float32
    with jax.enable_x64(True):
        double = batched(jnp.asarray(counts), jnp.asarray(sums))
    np.testing.assert_allclose(np.exp(single), np.exp(double), atol=5e-6)


@pytest.mark.parametrize("reward", [-1e3, 1e3])
def test_rewards_far_outside_the_range_give_a_distribution(reward):
    sums = jnp.asarray([50 * reward, 50 * reward, 0.0])
    log_posterior = best(jnp.asarray([50, 50, 0]), sums, 5.6)
    np.testing.assert_allclose(np.exp(log_posterior).sum(), 1.0, rtol=1e-5)
    assert log_posterior[0] == log_posterior[1]


def test_more_nodes_are_asked_for_where_likelihoods_are_narrower():
    assert nodes_needed(0.4, 0.5, 100) == 32
    assert nodes_needed(0.4, 0.5, 100) < nodes_needed(0.4, 0.1, 100) <= 128
