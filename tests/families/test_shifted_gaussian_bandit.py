import numpy as np
import pytest
import scipy.stats

from icpe.core.errors import InvalidParameterError
from icpe.families import GaussianBandit, ShiftedGaussianBandit
from icpe.testing import check_family

ALARM = 1e-6
"""Probability of a false alarm of each statistical test."""


@pytest.mark.slow
def test_the_shifted_bandit_conforms():
    check_family(ShiftedGaussianBandit(num_arms=3))


@pytest.mark.parametrize(("num_arms", "shift_kl"), [(4, 0.25), (10, 4.0)])
def test_the_concentration_has_the_divergence_that_was_asked_for(num_arms, shift_kl):
    alpha = ShiftedGaussianBandit(num_arms=num_arms, shift_kl=shift_kl).concentration
    size = num_arms + 1
    law = scipy.stats.dirichlet(np.full(size, alpha))
    draws = law.rvs(20_000, random_state=0)
    uniform = scipy.stats.dirichlet(np.ones(size))
    ratios = law.logpdf(draws.T) - uniform.logpdf(draws.T)
    # The mean log ratio is the divergence; 5 standard errors: probability 6e-7.
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - shift_kl) < 5 * error


def test_without_a_shift_the_concentration_is_that_of_uniforms():
    family = ShiftedGaussianBandit(num_arms=4, shift_kl=0.0)
    assert family.concentration == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("shift_kl", [0.0, 2.0])
def test_spacings_of_the_means_are_dirichlet_and_arms_are_shuffled(
    shift_kl, draw_tasks
):
    family = ShiftedGaussianBandit(
        num_arms=3, shift_kl=shift_kl, min_gap=0.2, max_mean=1.0
    )
    means = draw_tasks(family, 2000)
    ordered = np.sort(means, 1)
    assert (ordered[:, 2] - ordered[:, 1]).min() >= 0.2 - 1e-6
    cuts = (ordered - [0.0, 0.0, 0.2]) / 0.8
    spacings = np.diff(cuts, axis=1, prepend=0.0, append=1.0)
    # Each of the K + 1 spacings of Dirichlet(a..a) is Beta(a, K a).
    law = scipy.stats.beta(family.concentration, 3 * family.concentration)
    for column in range(4):
        assert scipy.stats.kstest(spacings[:, column], law.cdf).pvalue > ALARM
    counts = np.bincount(np.argmax(means, 1), minlength=3)
    assert scipy.stats.chisquare(counts).pvalue > ALARM


def test_the_spec_is_that_of_the_gaussian_bandit():
    shifted = ShiftedGaussianBandit(num_arms=6, noise=0.3, horizon=50)
    assert shifted.spec == GaussianBandit(num_arms=6, noise=0.3, horizon=50).spec


@pytest.mark.parametrize(
    "bad", [{"shift_kl": -0.1}, {"shift_kl": 1e6}, {"num_arms": 1}, {"noise": 0.0}]
)
def test_an_impossible_parameter_is_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        ShiftedGaussianBandit(**bad)


def test_among_more_arms_it_is_the_same_bandit_as_others_see_it(draw_tasks):
    alone = ShiftedGaussianBandit(num_arms=3, shift_kl=0.5)
    among = ShiftedGaussianBandit(num_arms=3, shift_kl=0.5, among=5)
    assert among.spec == GaussianBandit(num_arms=5, vary_arms=True).spec
    tasks = draw_tasks(among, 20)
    assert np.array_equal(tasks[:, :3], draw_tasks(alone, 20))
    assert (tasks[:, 3:] == -1.0).all()


def test_it_cannot_be_among_fewer_arms():
    with pytest.raises(InvalidParameterError, match="among"):
        ShiftedGaussianBandit(num_arms=5, among=3)
