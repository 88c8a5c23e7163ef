import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.explorers import make_explorer
from icpe.explorers.classical.eb_tc import TransportationCostSampling
from icpe.explorers.classical.top_two_sampling import TopTwoSampling
from icpe.families import BernoulliBandit, GaussianBandit
from icpe.families.bandit.arms import BernoulliArms, GaussianArms, Seen
from icpe.testing import check_explorer

KEYS = jr.split(jr.key(0), 400)
SEEN = Seen(
    jnp.array([4.0, 4.0, 4.0, 4.0]),
    4 * jnp.array([0.9, 0.2, 0.8, 0.5]),
    jnp.array([4, 4, 4, 4]),
)
ARMS = GaussianArms(4, 0.5)


def choices(rule, seen=SEEN):
    """How often each arm is preferred."""
    chosen = jax.jit(
        jax.vmap(lambda key: jnp.argmax(rule.preferences(None, seen, key=key)))
    )(KEYS)
    return np.bincount(chosen, minlength=4) / len(KEYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ttps", "ttts", "eb-tc"])
@pytest.mark.parametrize(
    "family", [GaussianBandit(num_arms=3), BernoulliBandit(num_arms=3)]
)
def test_they_keep_the_contract(name, family):
    check_explorer(make_explorer(name, family), family)


def test_probability_sampling_tosses_a_coin_between_the_two_most_probable():
    # Binomial(400, 1/2) leaves 0.5 +- 0.125 with probability below 1e-6.
    rates = choices(TopTwoSampling(ARMS, draws=False))
    assert rates[0] + rates[2] == 1.0
    assert abs(rates[0] - 0.5) < 0.125


@pytest.mark.slow
def test_thompson_sampling_draws_leader_and_challenger_by_their_probability():
    # P(arm) = p_a / 2 + sum over b != a of p_b p_a / (1 - p_b) / 2; of 400 draws a rate
    # is off by 0.13 with probability below 1e-6.
    rule = TopTwoSampling(ARMS, draws=True)
    p = np.asarray(rule.best_probabilities(SEEN), float)
    second = [
        sum(p[b] * p[a] / (1 - p[b]) for b in range(4) if b != a) for a in range(4)
    ]
    np.testing.assert_allclose(choices(rule), (p + second) / 2, atol=0.13)


def test_probabilities_of_rates_start_from_a_uniform_prior():
    rule = TopTwoSampling(BernoulliArms(2, 1), draws=False)
    seen = Seen(jnp.array([2.0, 1.0]), jnp.array([2.0, 0.0]), jnp.array([2, 1]))
    # Beta(3, 1) against Beta(1, 2): 1 - P(X < Y) = 1 - 1/10 by integration by parts.
    probs = jax.jit(rule.best_probabilities)(seen)
    np.testing.assert_allclose(probs, [0.9, 0.1], atol=1e-3)


def test_the_challenger_of_eb_tc_is_the_cheapest_rival():
    rates = choices(TransportationCostSampling(ARMS))
    assert rates[0] + rates[2] == 1.0
    assert abs(rates[0] - 0.5) < 0.125


def test_the_improved_challenger_may_be_one_that_was_pulled_less():
    seen = Seen(
        jnp.array([50.0, 6.0, 3.0, 50.0]),
        jnp.array([50 * 0.9, 6 * 0.4, 3 * 0.2, 0.0]),
        jnp.array([50, 6, 3, 50]),
    )
    evidence = np.asarray(ARMS.evidence(seen))
    assert evidence[1] < evidence[2] < evidence[1] + np.log(6 / 3)
    plain = TransportationCostSampling(ARMS).preferences(None, seen, key=KEYS[0])
    improved = TransportationCostSampling(ARMS, improved=True)
    scores = improved.preferences(None, seen, key=KEYS[0])
    assert jnp.argmax(plain[1:]) == 0
    assert jnp.argmax(scores[1:]) == 1


def test_every_arm_is_pulled_once_first():
    seen = Seen(SEEN.counts, SEEN.sums, jnp.array([4, 4, 4, 0]))
    for rule in (TransportationCostSampling(ARMS), TopTwoSampling(ARMS, draws=True)):
        assert jnp.argmax(rule.preferences(None, seen, key=KEYS[1])) == 3
