import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.request import OperatingPoint
from icpe.explorers import make_explorer
from icpe.explorers.classical.gaussian_ids import InformationRatio
from icpe.explorers.classical.reward_explorer import (
    GaussianPosterior,
    RewardLaw,
    reward_law,
)
from icpe.explorers.classical.thompson import PosteriorDraw
from icpe.explorers.classical.ucb import UpperBounds
from icpe.families import BernoulliBandit, DeterministicBandit, MagicAction
from icpe.families.bandit.rewards import RewardSums
from icpe.testing import check_explorer

LAW = RewardLaw(jnp.array([0.5, 1.0, 0.5]), prior_mean=1.0, prior_spread=2.0)
REWARDS = RewardSums(jnp.array([4, 1, 0]), jnp.array([6.0, 2.0, 0.0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb", "thompson", "gaussian-ids"])
@pytest.mark.parametrize(
    "family", [MagicAction(num_arms=3, vary_noise=True), BernoulliBandit(num_arms=3)]
)
def test_they_keep_the_contract(name, family):
    check_explorer(make_explorer(name, family), family)


def test_the_posterior_is_conjugate():
    got = GaussianPosterior.of(REWARDS, LAW)
    precision = 1 / 4 + np.array([4, 1, 0]) / np.array([0.25, 1.0, 0.25])
    sums = 1 / 4 + np.array([6.0, 2.0, 0.0]) / np.array([0.25, 1.0, 0.25])
    np.testing.assert_allclose(got.mean, sums / precision, rtol=1e-6)
    np.testing.assert_allclose(got.deviation, precision**-0.5, rtol=1e-6)


def test_upper_bounds_are_those_of_ucb1():
    got = UpperBounds().preferences(REWARDS, LAW, key=jr.key(0))
    truth = [1.5 + 0.5 * np.sqrt(8 * np.log(5) / 4), 2.0 + np.sqrt(8 * np.log(5))]
    np.testing.assert_allclose(got[:2], truth, rtol=1e-5)
    assert got[2] == jnp.inf


def test_thompson_sampling_draws_each_mean_from_its_posterior():
    # 4,000 draws: means and deviations within 0.15 but for a probability below 1e-6.
    keys = jr.split(jr.key(0), 4000)
    draws = jax.vmap(lambda key: PosteriorDraw().preferences(REWARDS, LAW, key=key))(
        keys
    )
    belief = GaussianPosterior.of(REWARDS, LAW)
    np.testing.assert_allclose(draws.mean(0), belief.mean, atol=0.15)
    np.testing.assert_allclose(draws.std(0), belief.deviation, atol=0.15)


@pytest.mark.slow
def test_information_directed_sampling_ignores_arms_that_cannot_be_best():
    law = RewardLaw(jnp.full(3, 0.5), prior_mean=0.0, prior_spread=1.0)
    rewards = RewardSums(jnp.array([400, 4, 4]), jnp.array([-1000.0, 4.0, 4.0]))
    keys = jr.split(jr.key(0), 100)
    scores = jax.vmap(
        lambda key: InformationRatio().preferences(rewards, law, key=key)
    )(keys)
    assert 0 not in set(np.argmax(scores, axis=1).tolist())


def test_each_family_has_its_noise():
    magic = reward_law(MagicAction(num_arms=3, magic_noise=0.2), jnp.zeros(1))
    np.testing.assert_allclose(magic.noise, [0.2, 0.8, 0.8], rtol=1e-6)
    revealed = reward_law(
        MagicAction(num_arms=3, vary_noise=True), jnp.array([0.0, 0.7])
    )
    np.testing.assert_allclose(revealed.noise, [0.7, 0.3, 0.3], rtol=1e-6)
    batch = reward_law(BernoulliBandit(num_arms=3, batch_size=16), jnp.zeros(1))
    np.testing.assert_allclose(batch.noise, [2.0] * 3)
    assert (batch.prior_mean, batch.prior_spread) == (8.0, 8.0)
    still = reward_law(DeterministicBandit(num_arms=3), jnp.zeros(1))
    assert float(still.noise[0]) == pytest.approx(5e-4)


def test_a_varying_number_of_arms_is_refused():
    family = DeterministicBandit(num_arms=3, vary_arms=True)
    explorer = make_explorer("ucb", family)
    with pytest.raises(UnsupportedError, match="leave vary_arms out"):
        explorer.init(family.spec, OperatingPoint.at(3, budget=3), jnp.zeros(2))


def test_only_a_budget_is_served():
    family = BernoulliBandit(num_arms=3)
    explorer = make_explorer("ucb", family)
    with pytest.raises(OperatingPointError, match="ask for budget"):
        explorer.init(family.spec, OperatingPoint.at(9, error_prob=0.1), jnp.zeros(1))
