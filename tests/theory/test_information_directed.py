import numpy as np
import pytest
from scipy import integrate, special, stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.information_directed import (
    chain_first_gains,
    chain_second_gains,
    chain_truncated_queries,
    two_pull_first_gains,
    two_pull_queries_without_arm_zero,
)

MANY_ARMS = [7, 8, 12, 40, 121, 200]
MOST_PER_PULL = 0.5 * np.log(1 + 1 / 12)


def quad(function, low, high):
    return integrate.quad(function, low, high, epsabs=1e-12, epsrel=1e-9, limit=200)[0]


def reward_density(y, weight):
    """Density of a reward of noise 1 when the mean has this density on [0, 1]."""
    return quad(lambda x: weight(x) * stats.norm.pdf(y - x), 0, 1)


def mutual_information(num_regular, chance_of_best, chance_of_other):
    """sum over a of P(A*=a) KL(law of the reward given A*=a, its law).

    The reward is of one regular arm, which is A* itself or not; `chance_of_other` are
    the prior chances of the other answers together.
    """
    n = num_regular

    def best(x):
        return n * x ** (n - 1)

    def other(x):
        return n / (n - 1) * (1 - x ** (n - 1))

    def integrand(y):
        given_best, given_other = reward_density(y, best), reward_density(y, other)
        mixed = chance_of_best * given_best + chance_of_other * given_other
        return chance_of_best * special.rel_entr(
            given_best, mixed
        ) + chance_of_other * special.rel_entr(given_other, mixed)

    return quad(integrand, -7, 8)


@pytest.mark.parametrize("num_arms", [4, 9])
def test_two_pull_gain_is_the_mutual_information(num_arms):
    # The best is one of K-1 arms; given that it is another, all others look alike.
    n = num_arms - 1
    truth = mutual_information(n, 1 / n, 1 - 1 / n)
    gains = two_pull_first_gains(num_arms)
    assert gains.fresh == pytest.approx(truth, rel=1e-6)
    assert gains.arm_zero == 0.0 < gains.fresh


@pytest.mark.parametrize("num_arms", [4, 7])
def test_first_gain_in_the_chain_is_the_mutual_information(num_arms):
    # A fresh arm is m with chance 1/(K-1) and then tells everything about A*, which is
    # one of the K-2 others. Else it is regular: it is A* with chance 1/(K-2). Being
    # regular or not tells I(A*; S), and then the reward tells the rest.
    n = num_arms - 2
    is_magic = 1 / (num_arms - 1)
    from_reward = mutual_information(n, 1 / n, 1 - 1 / n)
    from_kind = np.log(num_arms - 1) - (
        is_magic * np.log(n)
        + (1 - is_magic) * (special.entr(1 / n) + special.entr(1 - 1 / n))
        + (1 - is_magic) * (1 - 1 / n) * np.log(n)
    )
    truth = from_kind + is_magic * np.log(n) + (1 - is_magic) * from_reward
    assert chain_first_gains(num_arms).fresh == pytest.approx(truth, rel=1e-6)
    expected = np.log((num_arms - 1) / (num_arms - 2))
    assert chain_first_gains(num_arms).arm_zero == pytest.approx(expected, rel=1e-12)


def test_second_gains_agree_with_adaptive_integration():
    num_arms, n = 6, 4
    gains = chain_second_gains(num_arms)
    index = 60
    y = gains.outcomes[index]

    def entropy(leaders, num_rest):
        share = (1 - sum(leaders)) / num_rest
        return special.entr(leaders).sum() + num_rest * special.entr(share)

    def law(x, rewards):
        return np.prod([stats.norm.pdf(reward - x) for reward in rewards], axis=0)

    def best_of(rewards):
        """P(best of n | rewards of one arm), and the density of the last reward."""
        total = quad(lambda x: law(x, rewards), 0, 1)
        return quad(lambda x: x ** (n - 1) * law(x, rewards), 0, 1) / total, total

    def below(x, reward):
        tails = stats.norm.cdf([x - reward, -reward, 1 - reward])
        return (tails[0] - tails[1]) / (tails[2] - tails[1])

    def leads(mine, theirs):
        total = quad(lambda x: law(x, [mine]), 0, 1)
        return (
            quad(lambda x: x ** (n - 2) * law(x, [mine]) * below(x, theirs), 0, 1)
            / total
        )

    lead, total = best_of([y])
    before = entropy([lead], num_arms - 2)
    assert gains.probs.sum() == pytest.approx(1.0, abs=1e-9)
    zero = before - entropy([lead], num_arms - 3)
    assert gains.arm_zero[index] == pytest.approx(zero, rel=1e-8)

    nodes, widths = np.polynomial.legendre.leggauss(40)
    again = fresh = 0.0
    for z, width in zip(0.5 + 6 * nodes, 6 * widths, strict=True):
        lead_again, joint = best_of([y, z])
        again += width * joint / total * entropy([lead_again], num_arms - 2)
        density = quad(lambda x, z=z: law(x, [z]), 0, 1)
        both = [leads(y, z), leads(z, y)]
        fresh += width * density * entropy(both, num_arms - 3)
    assert gains.again[index] == pytest.approx(before - again, rel=1e-5)
    left = (num_arms - 3) / (num_arms - 2) * fresh
    assert gains.fresh[index] == pytest.approx(before - left, rel=1e-5)


@pytest.mark.parametrize("num_arms", MANY_ARMS)
def test_gains_obey_the_lemmas_of_the_proof(num_arms):
    first, second = chain_first_gains(num_arms), chain_second_gains(num_arms)
    assert first.fresh >= np.log(num_arms - 2) / (num_arms - 1)
    # After the first pull the lemma holds on average, not for every reward: a very
    # large one leaves less to learn.
    assert second.probs @ second.fresh >= np.log(num_arms - 3) / (num_arms - 2)
    assert np.all(
        second.arm_zero <= np.log((num_arms - 2) / (num_arms - 3)) * (1 + 1e-12)
    )
    assert np.all(second.again <= MOST_PER_PULL)


@pytest.mark.parametrize("num_arms", MANY_ARMS)
def test_arm_zero_of_the_chain_is_not_pulled_in_the_first_two_steps(num_arms):
    first, second = chain_first_gains(num_arms), chain_second_gains(num_arms)
    assert first.arm_zero < first.fresh
    assert np.all(second.arm_zero < np.maximum(second.again, second.fresh))


@pytest.mark.parametrize("num_arms", MANY_ARMS)
def test_sampling_the_chain_by_information_needs_more_than_two_pulls(num_arms):
    # The theorem's bound on E[min(pulls, 3)]: 3/(K-1) + 3 (K-3)/(K-1).
    got = chain_truncated_queries(num_arms, error_prob=0.01)
    bound = 3 / (num_arms - 1) + 3 * (num_arms - 3) / (num_arms - 1)
    assert got >= bound - 1e-9
    assert got > 2.4


def test_the_two_pull_bandit_without_arm_zero_needs_far_more_than_two_pulls():
    for num_arms in (7, 20, 100):
        least = two_pull_queries_without_arm_zero(num_arms, error_prob=0.1)
        # Rewards can tell no more than the lemma allows, nor can the first one.
        assert two_pull_first_gains(num_arms).fresh <= MOST_PER_PULL
        assert least > 30
    for error_prob in (0.75, 0.8):
        assert two_pull_queries_without_arm_zero(5, error_prob) == 0.0


def test_bandits_that_are_too_small_are_refused():
    for function, least in ((two_pull_first_gains, 3), (chain_second_gains, 4)):
        with pytest.raises(InvalidParameterError, match=f"at least {least}"):
            function(least - 1)
    with pytest.raises(InvalidParameterError, match="noise must be"):
        chain_first_gains(7, noise=0.0)
