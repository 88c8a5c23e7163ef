import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import DeterministicBandit, GaussianBandit
from icpe.families.bandit.varying import numbers_of_arms
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""


@pytest.mark.parametrize(
    "family",
    [
        GaussianBandit(num_arms=3),
        GaussianBandit(num_arms=4, vary_arms=True),
        DeterministicBandit(num_arms=3),
        DeterministicBandit(num_arms=4, vary_arms=True),
    ],
)
def test_a_bandit_conforms(family):
    check_family(family)


def test_the_means_have_the_law_of_uniforms_given_the_gap_by_closed_form(draw_tasks):
    # Uniforms on [0, R]^K restricted to "the best leads by g" have the constant
    # density on that set, so P(best <= x) = ((x - g) / (R - g))^K, the others are
    # independent and uniform on [0, best - g], and every arm is the best equally often.
    family = GaussianBandit(num_arms=3, min_gap=0.3, max_mean=1.0)
    means = draw_tasks(family, 3000)
    order = np.argsort(means, axis=1)
    best = np.take_along_axis(means, order[:, -1:], 1)[:, 0]
    others = np.take_along_axis(means, order[:, :-1], 1) / (best[:, None] - 0.3)
    others = np.random.default_rng(0).permuted(others, axis=1)
    level = ((best - 0.3) / 0.7) ** 3
    assert (best - np.sort(means, 1)[:, -2]).min() >= 0.3 - 1e-6
    for values in (level, others[:, 0], others[:, 1]):
        assert scipy.stats.kstest(values, "uniform").pvalue > ALARM
    assert abs(np.corrcoef(others.T)[0, 1]) < 5 / np.sqrt(3000)
    assert scipy.stats.chisquare(np.bincount(order[:, -1])).pvalue > ALARM


def test_the_means_have_the_law_of_uniforms_given_the_gap_by_rejection(draw_tasks):
    family = GaussianBandit(num_arms=4, min_gap=0.2, max_mean=1.0)
    means = np.sort(draw_tasks(family, 2000), 1)
    uniforms = np.sort(np.random.default_rng(1).random((20000, 4)), 1)
    kept = uniforms[uniforms[:, -1] - uniforms[:, -2] >= 0.2][:2000]
    assert len(kept) == 2000
    for statistic in (
        lambda x: x[:, -1],
        lambda x: x[:, -2],
        lambda x: x[:, 0],
        lambda x: x[:, -1] - x[:, -2],
    ):
        result = scipy.stats.ks_2samp(statistic(means), statistic(kept))
        assert result.pvalue > ALARM  # pyright: ignore[reportAttributeAccessIssue]


def test_rewards_are_normal_around_the_mean_of_the_pulled_arm(draw_outcomes):
    family = GaussianBandit(num_arms=3, noise=0.5)
    means = jnp.asarray([0.1, 1.0, 0.4])
    rewards = draw_outcomes(family, means, 2, 3000)[:, 0]
    assert scipy.stats.kstest((rewards - 0.4) / 0.5, "norm").pvalue > ALARM
    assert int(family.hypothesis(means)) == 1


def test_the_range_of_the_means_grows_with_the_arms_unless_it_is_given():
    assert GaussianBandit(num_arms=5).mean_range == pytest.approx(2.0)
    assert GaussianBandit(num_arms=5, max_mean=1.0).mean_range == 1.0


def test_the_number_of_arms_varies_and_each_has_its_own_law(draw_tasks):
    family = GaussianBandit(num_arms=5, vary_arms=True, fewest_arms=3, min_gap=0.2)
    means = draw_tasks(family, 3000)
    number = np.sum(means >= 0, 1)
    assert (means[np.arange(5)[None, :] >= number[:, None]] == -1.0).all()
    counts = np.bincount(number, minlength=6)[3:]
    assert counts.sum() == 3000
    assert scipy.stats.chisquare(counts).pvalue > ALARM
    # As in the closed form above, with K and the range of each task.
    top = np.sort(means, 1)[:, -2:]
    level = ((top[:, 1] - 0.2) / (0.4 * number - 0.2)) ** number
    assert (top[:, 1] - top[:, 0]).min() >= 0.2 - 1e-6
    for arms in (3, 4, 5):
        assert scipy.stats.kstest(level[number == arms], "uniform").pvalue > ALARM


def test_the_number_of_deterministic_arms_varies_and_their_means_do_not(draw_tasks):
    family = DeterministicBandit(num_arms=6, vary_arms=True, fewest_arms=3, most_arms=5)
    means = draw_tasks(family, 3000)
    number = np.sum(means >= 0, 1)
    assert (means[np.arange(6)[None, :] >= number[:, None]] == -1.0).all()
    counts = np.bincount(number, minlength=7)[3:6]
    assert counts.sum() == 3000
    assert scipy.stats.chisquare(counts).pvalue > ALARM
    for arms in (3, 4, 5):
        values = means[number == arms, :arms].ravel()
        assert scipy.stats.kstest(values, "uniform").pvalue > ALARM


@pytest.mark.parametrize("bandit", [GaussianBandit, DeterministicBandit])
def test_the_number_of_arms_is_revealed_and_the_others_are_masked(bandit):
    family = bandit(num_arms=4, vary_arms=True)
    means = jnp.asarray([0.5, 0.1, -1.0, -1.0])
    first = family.reset(means, key=jr.key(0))
    assert first.outcome.tolist() == [0.0, 2.0]
    assert first.query_mask.tolist() == [True, True, False, False]
    then = family.step(None, jnp.asarray(1), means, key=jr.key(0))
    assert then.outcome[1] == 0.0
    assert then.query_mask.tolist() == [True, True, False, False]


@pytest.mark.parametrize("bandit", [GaussianBandit, DeterministicBandit])
def test_one_number_of_arms_can_be_evaluated_with_the_spec_of_all(bandit):
    every = bandit(num_arms=14, vary_arms=True)
    six = bandit(num_arms=14, vary_arms=True, fewest_arms=6, most_arms=6)
    assert six.spec == every.spec
    assert int(np.sum(six.sample_task(key=jr.key(0)) >= 0)) == 6


def test_one_pull_of_a_deterministic_arm_reveals_its_mean(draw_tasks):
    family = DeterministicBandit(num_arms=3)
    means = jnp.asarray([0.1, 0.9, 0.4])
    for arm in range(3):
        result = family.step(None, jnp.asarray(arm), means, key=jr.key(0))
        assert result.outcome.tolist() == [means[arm]]
    assert int(family.hypothesis(means)) == 1
    assert family.spec.horizon == 3
    values = draw_tasks(family, 1000)
    assert scipy.stats.kstest(values.ravel(), "uniform").pvalue > ALARM
    some = DeterministicBandit(num_arms=3, vary_arms=True)
    result = some.step(None, jnp.asarray(1), means, key=jr.key(0))
    assert result.outcome.tolist() == [means[1], 0.0]
    assert some.spec.horizon == 3


def test_the_numbers_of_arms_are_those_that_tasks_may_have():
    assert list(numbers_of_arms(DeterministicBandit(num_arms=4, fewest_arms=3))) == [4]
    some = DeterministicBandit(num_arms=6, vary_arms=True, fewest_arms=3)
    assert list(numbers_of_arms(some)) == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("family", "bad"),
    [
        (GaussianBandit, {"num_arms": 1}),
        (GaussianBandit, {"noise": 0.0}),
        (GaussianBandit, {"min_gap": -0.1}),
        (GaussianBandit, {"max_mean": -1.0}),
        (GaussianBandit, {"horizon": 0}),
        (GaussianBandit, {"min_gap": 1.0, "max_mean": 1.0}),
        (GaussianBandit, {"fewest_arms": 1, "vary_arms": True}),
        (GaussianBandit, {"most_arms": 11, "vary_arms": True}),
        (GaussianBandit, {"min_gap": 1.0, "vary_arms": True}),
        (DeterministicBandit, {"num_arms": 1}),
        (DeterministicBandit, {"horizon": -1}),
        (DeterministicBandit, {"fewest_arms": 1, "vary_arms": True}),
        (DeterministicBandit, {"fewest_arms": 5, "vary_arms": True, "most_arms": 4}),
        (DeterministicBandit, {"most_arms": 11, "vary_arms": True}),
    ],
)
def test_an_impossible_parameter_is_refused(family, bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        family(**bad)
