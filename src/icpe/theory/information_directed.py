"""Exact information-directed sampling where it is far from optimal.

Information-directed sampling for identification makes the query of largest expected
information gain about the answer, one step ahead (Russo and Van Roy 2018; the paper,
appendix "Comparison with Information Directed Sampling"). Two bandits show what that
misses. Regular arms have means uniform on [0, 1] and Gaussian rewards, and arm 0 is
known not to be the best:

* two-pull bandit: the second pull of arm 0 reveals the best arm, the first says
  nothing. Its gain is 0, so it is never pulled, while two pulls would do.
* two-link chain: arm 0 names arm m, arm m names the best arm, both without noise.
  Two pulls would do; from 7 arms on arm 0 is not pulled in the first two steps.

Gains are in nats and exact up to quadrature over the means and the rewards.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import entr, ndtr

from icpe.core.checks import check_at_least, check_positive

Outcomes = Float[np.ndarray, "outcomes"]

_NUM_MEANS = 64
_NUM_OUTCOMES = 128
_TAIL = 7.0


class FirstGains(NamedTuple):
    """Expected information gain of arm 0 and of a regular arm before any pull."""

    arm_zero: float
    fresh: float


class SecondGains(NamedTuple):
    """Gains after one regular arm paid each of `outcomes`, which have `probs`.

    `arm_zero` pulls arm 0, `again` the same arm, `fresh` an arm not pulled yet.
    """

    outcomes: Outcomes
    probs: Outcomes
    arm_zero: Outcomes
    again: Outcomes
    fresh: Outcomes


def two_pull_first_gains(num_arms: int, noise: float = 1.0) -> FirstGains:
    """Gains in the two-pull bandit. That of arm 0 stays 0 until it is pulled once."""
    check_at_least("num_arms", num_arms, 3)
    rewards = _Rewards.of(noise)
    others = num_arms - 2
    after = _belief([rewards.best_among(num_arms - 1)], others)
    gain = np.log(num_arms - 1.0) - rewards.probs @ after.entropy
    return FirstGains(0.0, float(gain))


def two_pull_queries_without_arm_zero(
    num_arms: int, error_prob: float, noise: float = 1.0
) -> float:
    """Least expected pulls of any method that never pulls arm 0 of the two-pull bandit.

    A pull of a regular arm tells at most log(1 + 1 / (12 noise^2)) / 2 about the best
    arm (the paper, last lemma of the proof for the two-link chain), and to err with
    probability at most delta on average takes log(K-1) - h(delta) - delta log(K-2)
    (Fano's inequality). Information-directed sampling is such a method.
    """
    check_at_least("num_arms", num_arms, 3)
    check_positive("noise", noise)
    if error_prob >= (num_arms - 2.0) / (num_arms - 1.0):
        return 0.0
    needed = np.log(num_arms - 1.0) - error_prob * np.log(num_arms - 2.0)
    needed = needed - entr(error_prob) - entr(1.0 - error_prob)
    per_pull = 0.5 * np.log1p(1.0 / (12.0 * noise**2))
    return float(needed / per_pull)


def chain_first_gains(num_arms: int, noise: float = 1.0) -> FirstGains:
    """Gains in the two-link chain before any pull.

    Arm 0 excludes one of K-1 arms: log((K-1) / (K-2)). A fresh arm is m with
    probability 1 / (K-1) and then tells everything.
    """
    check_at_least("num_arms", num_arms, 4)
    rewards = _Rewards.of(noise)
    after = _after_first(num_arms, rewards)
    left = (num_arms - 2.0) / (num_arms - 1.0) * rewards.probs @ after.entropy
    before = np.log(num_arms - 1.0)
    return FirstGains(float(before - np.log(num_arms - 2.0)), float(before - left))


def chain_second_gains(num_arms: int, noise: float = 1.0) -> SecondGains:
    """Gains in the two-link chain after one pull of a regular arm, for each reward."""
    check_at_least("num_arms", num_arms, 4)
    return _chain_second(num_arms, noise).gains


def chain_truncated_queries(
    num_arms: int, error_prob: float, noise: float = 1.0
) -> float:
    """E[min(pulls, 3)] of information-directed sampling on the two-link chain.

    It stops when some arm is best with probability at least 1 - error_prob. A value
    above 2, what pulling arm 0 and then m needs, shows that it is not optimal (the
    paper, theorem on information-directed sampling).
    """
    check_at_least("num_arms", num_arms, 4)
    first = chain_first_gains(num_arms, noise)
    if first.arm_zero >= first.fresh:
        return 2.0
    second = _chain_second(num_arms, noise)
    gains = second.gains
    is_magic = 1.0 / (num_arms - 2.0)
    regular_stops = second.after_fresh.stops(error_prob) @ gains.probs
    stop_probs = np.stack(
        [
            second.after_zero.stops(error_prob),
            np.sum(second.again_probs * second.after_again.stops(error_prob), axis=1),
            is_magic + (1.0 - is_magic) * regular_stops,
        ]
    )
    chosen = np.argmax([gains.arm_zero, gains.again, gains.fresh], axis=0)
    stops_second = stop_probs[chosen, np.arange(chosen.size)]
    pulls = np.where(second.before.stops(error_prob) > 0, 1.0, 3.0 - stops_second)
    regular = gains.probs @ pulls
    return float((1.0 + (num_arms - 2.0) * regular) / (num_arms - 1.0))


class _Belief(NamedTuple):
    """Entropy and largest probability of beliefs about the best arm."""

    entropy: np.ndarray
    peak: np.ndarray

    def stops(self, error_prob: float) -> np.ndarray:
        """1 where the belief is sure enough, else 0."""
        return (self.peak >= 1.0 - error_prob).astype(float)


def _belief(leaders: list[np.ndarray], num_rest: int) -> _Belief:
    """The belief with these probabilities and the rest shared equally by others."""
    share = np.maximum(1.0 - sum(leaders), 0.0) / num_rest
    entropy = num_rest * entr(share) + sum(entr(leader) for leader in leaders)
    return _Belief(entropy, np.maximum.reduce([share, *leaders]))


class _Rewards(NamedTuple):
    """One reward of a regular arm: quadrature over rewards and over the mean.

    `likelihood[y, x]` is the density of reward y at mean x; `posterior[y]` the law of
    the mean on its nodes after reward y; `distribution[y, x]` its distribution
    function at the nodes.
    """

    outcomes: Outcomes
    widths: Outcomes
    probs: Outcomes
    means: Float[np.ndarray, "means"]
    likelihood: Float[np.ndarray, "outcomes means"]
    posterior: Float[np.ndarray, "outcomes means"]
    distribution: Float[np.ndarray, "outcomes means"]

    @staticmethod
    def of(noise: float) -> "_Rewards":
        check_positive("noise", noise)
        means, mean_weights = _gauss_legendre(0.0, 1.0, _NUM_MEANS)
        outcomes, widths = _gauss_legendre(
            -_TAIL * noise, 1.0 + _TAIL * noise, _NUM_OUTCOMES
        )
        distances = (outcomes[:, None] - means[None]) / noise
        likelihood = np.exp(-0.5 * distances**2) / (noise * np.sqrt(2.0 * np.pi))
        joint = likelihood * mean_weights[None]
        density = np.sum(joint, axis=1)
        # Normal tails are subtracted on the side where they are small.
        side = np.where(outcomes > 0.5, 1.0, -1.0)[:, None]
        tails = ndtr(side * (np.append(means, (0.0, 1.0)) - outcomes[:, None]) / noise)
        part, whole = (
            tails[:, :-2] - tails[:, -2:-1],
            tails[:, -1:] - tails[:, -2:-1],
        )
        return _Rewards(
            outcomes,
            widths,
            widths * density,
            means,
            likelihood,
            joint / density[:, None],
            part / whole,
        )

    def best_among(self, num_regular: int) -> Outcomes:
        """P(the arm is best of so many | its reward)."""
        return self.posterior @ self.means ** (num_regular - 1)


class _ChainSecond(NamedTuple):
    """Everything that can happen at the second pull, given the first reward."""

    gains: SecondGains
    before: _Belief
    after_zero: _Belief
    after_again: _Belief
    again_probs: Float[np.ndarray, "outcomes outcomes"]
    after_fresh: _Belief


def _chain_second(num_arms: int, noise: float) -> _ChainSecond:
    rewards = _Rewards.of(noise)
    num_regular = num_arms - 2
    before = _after_first(num_arms, rewards)
    after_zero = _belief([rewards.best_among(num_regular)], num_arms - 3)

    # The same arm again: rows are first rewards, columns second ones.
    joint = np.einsum("yx,zx->yzx", rewards.posterior, rewards.likelihood)
    density = np.sum(joint, axis=2)
    best_again = joint @ rewards.means ** (num_regular - 1)
    best_again = best_again / np.where(density > 0, density, 1.0)
    after_again = _belief([best_again], num_arms - 2)
    again_probs = density * rewards.widths[None]

    # Another regular arm: one of the two leads if it beats the other and the unseen.
    unseen = rewards.means ** (num_regular - 2)
    leads = (rewards.posterior * unseen[None]) @ rewards.distribution.T
    after_fresh = _belief([leads, leads.T], num_arms - 3)
    left = (num_arms - 3.0) / (num_arms - 2.0) * (after_fresh.entropy @ rewards.probs)
    gains = SecondGains(
        rewards.outcomes,
        rewards.probs,
        before.entropy - after_zero.entropy,
        before.entropy - np.sum(again_probs * after_again.entropy, axis=1),
        before.entropy - left,
    )
    return _ChainSecond(
        gains, before, after_zero, after_again, again_probs, after_fresh
    )


def _after_first(num_arms: int, rewards: _Rewards) -> _Belief:
    """After a reward of a regular arm: K-2 arms are left, one of them is m."""
    return _belief([rewards.best_among(num_arms - 2)], num_arms - 2)


def _gauss_legendre(
    low: float, high: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(size)
    half = 0.5 * (high - low)
    return low + half * (nodes + 1.0), half * weights
