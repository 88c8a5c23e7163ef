"""Characteristic time and optimal proportions of best-arm identification.

For a bandit with means mu and best arm *, any method that errs with probability at
most delta on every bandit of the class makes on average at least
T*(mu) kl(1-delta, delta) queries, where

    1 / T*(mu) = max over w in the simplex of min over a != * of g_a(w),
    g_a(w) = min over m of w_* d(mu_*, m) + w_a d(mu_a, m),

and d is the KL divergence between arms of given means (Garivier and Kaufmann 2016,
"Optimal best arm identification with fixed confidence", Theorem 1 and Lemma 3). This
holds for methods that are correct on every task: a method that knows the prior and is
correct on average may need fewer queries.

With ratios x_a = w_a / w_*, the optimum makes all g_a equal and satisfies
sum over a != * of d(mu_*, m_a) / d(mu_a, m_a) = 1 (Theorem 5 of the same paper). Both
solvers find that point by Newton's method on reciprocals, in which the Gaussian
equations are exactly, and the Bernoulli ones almost, linear.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, Scalar
from icpe.theory.divergences import kl_binary, kl_gaussian

Means = Float[Array, "arms"]
Weights = Float[Array, "arms"]

_NUM_NEWTON_STEPS = 12


class CharacteristicTime(eqx.Module):
    """T* and the proportions of queries w* that attain it."""

    time: Scalar
    proportions: Float[Array, "queries"]


@jax.jit
def gaussian_characteristic_time(
    means: Means, noise: Scalar | float
) -> CharacteristicTime:
    """T* and w* for Gaussian arms with known standard deviation `noise`.

    If several arms share the largest mean, the time is infinite and the proportions
    are the limit as their gaps vanish together.
    """
    arms = _Arms.of(means)
    rates = kl_gaussian(arms.best_mean, means, noise)
    lowest = jnp.min(jnp.where(arms.is_other, rates, jnp.inf))
    hardness = jnp.where(arms.is_other, rates / jnp.where(lowest > 0, lowest, 1.0), 1.0)

    # x_a = 1 / (hardness_a (u + 1) - 1) with u = 1 / (largest x); solve |x| = 1.
    # 1 / |x| is concave and increasing in u, so Newton climbs from u = 1 to the root.
    def ratios(u):
        return jnp.where(arms.is_other, 1.0 / (hardness * (u + 1.0) - 1.0), 0.0)

    def newton(_, u):
        x = ratios(u)
        square = jnp.sum(x**2)
        return u + (jnp.sqrt(square) - 1.0) * square / jnp.sum(hardness * x**3)

    u = lax.fori_loop(0, _NUM_NEWTON_STEPS, newton, jnp.ones_like(lowest))
    return arms.result(ratios(u), information=lowest / (1.0 + u))


@jax.jit
def bernoulli_characteristic_time(means: Means) -> CharacteristicTime:
    """T* and w* for Bernoulli arms; means of exactly 0 or 1 are allowed.

    If several arms share the largest mean, the time is infinite and the proportions
    are the limit as their gaps vanish together.
    """
    arms = _Arms.of(means)

    # Unknowns t_a = 1 / x_a and v, the common value of 1 / g_a(1, x_a); equations
    # t_a / G_a(t_a) = v and |(sqrt(d(mu_*, m_a) / d(mu_a, m_a)))_a| = 1. The start
    # gives the hardest arm t = 1 and the others what the tangents say.
    def follow(t, pairs, v):
        step = (v - t / pairs.information) / pairs.level_slope
        return jnp.where(arms.is_other, jnp.maximum(t + step, 0.1 * t), 1.0)

    def newton(_, t):
        pairs = _Pairs.at(t, arms)
        total = jnp.sum(pairs.balance)
        slope = pairs.balance_slope / pairs.level_slope
        pull = jnp.sum(slope * t / pairs.information)
        v = (2.0 * (total - total**1.5) + pull) / jnp.sum(slope)
        return follow(t, pairs, v)

    t = jnp.ones_like(means)
    pairs = _Pairs.at(t, arms)
    t = follow(t, pairs, jnp.max(jnp.where(arms.is_other, t / pairs.information, 0.0)))
    t = lax.fori_loop(0, _NUM_NEWTON_STEPS, newton, t)
    information = _Pairs.at(t, arms).information / t
    return arms.result(
        jnp.where(arms.is_other, 1.0 / t, 0.0),
        information=jnp.min(jnp.where(arms.is_other, information, jnp.inf)),
    )


def gaussian_information(
    weights: Weights, means: Means, noise: Scalar | float
) -> Scalar:
    """The minimum over a != * of g_a(weights), for Gaussian arms.

    With proportions it is 1 / T(w), the rate at which evidence grows; with counts and
    empirical means it is the generalized likelihood ratio that Track-and-Stop
    compares with its threshold.
    """
    return jnp.min(gaussian_evidence(weights, means, noise))


def bernoulli_information(weights: Weights, means: Means) -> Scalar:
    """The minimum over a != * of g_a(weights), for Bernoulli arms."""
    return jnp.min(bernoulli_evidence(weights, means))


def gaussian_evidence(
    weights: Weights, means: Means, noise: Scalar | float
) -> Float[Array, "arms"]:
    """g_a(weights) for every rival a of the best arm, infinite for that arm itself.

    With counts and empirical means these are the generalized likelihood ratios of
    "the leader is better" against "a is at least as good" (Garivier and Kaufmann
    2016, equation 6 and Lemma 3).
    """
    arms = _Arms.of(means)
    total = weights[arms.best] + weights
    shared = weights[arms.best] * weights / jnp.where(total > 0, total, 1.0)
    values = shared * kl_gaussian(arms.best_mean, means, noise)
    return jnp.where(arms.is_other, values, jnp.inf)


def bernoulli_evidence(weights: Weights, means: Means) -> Float[Array, "arms"]:
    """`gaussian_evidence` for Bernoulli arms."""
    arms = _Arms.of(means)
    own = weights[arms.best]
    total = own + weights
    total = jnp.where(total > 0, total, 1.0)
    mixture = _Mixture.at(own / total, weights / total, arms)
    values = jnp.where(own > 0, own * mixture.from_best, 0.0)
    values = values + jnp.where(weights > 0, weights * mixture.from_other, 0.0)
    return jnp.where(arms.is_other, values, jnp.inf)


class _Arms(eqx.Module):
    """The best arm set apart from the others."""

    means: Means
    best: Index
    best_mean: Scalar
    is_other: Bool[Array, "arms"]
    is_tied: Bool[Array, "arms"]

    @staticmethod
    def of(means: Means) -> "_Arms":
        best = jnp.argmax(means)
        best_mean = jnp.max(means)
        is_other = jnp.arange(means.shape[0]) != best
        return _Arms(means, best, best_mean, is_other, is_other & (means == best_mean))

    def result(self, ratios: Weights, information: Scalar) -> CharacteristicTime:
        """From x and g(1, x) to T* and w*; arms tied with the best get the limit."""
        num_tied = jnp.sum(self.is_tied, dtype=ratios.dtype)
        tied = num_tied > 0
        limit = jnp.where(self.is_tied, lax.rsqrt(jnp.maximum(num_tied, 1.0)), 0.0)
        ratios = jnp.where(self.is_other, jnp.where(tied, limit, ratios), 1.0)
        total = jnp.sum(ratios)
        time = total / jnp.where(tied, 1.0, information)
        return CharacteristicTime(jnp.where(tied, jnp.inf, time), ratios / total)


class _Pairs(eqx.Module):
    """The hardest confusion of the best arm with each other arm at weights (t, 1).

    `information` is G = min over m of t d(mu_*, m) + d(mu_a, m); `level_slope` is the
    derivative of t / G; `balance` is the ratio of the two divergences, 0 for arms that
    do not count, and `balance_slope` its derivative.
    """

    information: Weights
    level_slope: Weights
    balance: Weights
    balance_slope: Weights

    @staticmethod
    def at(t: Weights, arms: _Arms) -> "_Pairs":
        mixture = _Mixture.at(t / (1.0 + t), 1.0 / (1.0 + t), arms)
        usable = arms.is_other & ~arms.is_tied
        from_other = jnp.where(usable, mixture.from_other, 1.0)
        balance = jnp.where(usable, mixture.from_best / from_other, 0.0)
        # m moves by gap / (1 + t)^2; the derivative of d(p, m) is (m - p) / (m (1-m)).
        gap = arms.best_mean - arms.means
        change = -(gap**2) * (1.0 + balance * t) / (1.0 + t) ** 3
        variance = mixture.middle * mixture.not_middle * from_other
        information = jnp.where(usable, t * mixture.from_best + from_other, 1.0)
        return _Pairs(
            information=information,
            level_slope=from_other / information**2,
            balance=balance,
            balance_slope=jnp.where(usable, change / variance, 0.0),
        )


class _Mixture(eqx.Module):
    """The mean m between the best arm and each other, and the KL of both from it.

    Shares and complements are mixed separately, so that nothing is lost next to 1.
    """

    middle: Means
    not_middle: Means
    from_best: Weights
    from_other: Weights

    @staticmethod
    def at(best_share: Weights, other_share: Weights, arms: _Arms) -> "_Mixture":
        best = jnp.broadcast_to(arms.best_mean, arms.means.shape)
        middle = best_share * best + other_share * arms.means
        not_best, not_other = 1.0 - best, 1.0 - arms.means
        not_middle = best_share * not_best + other_share * not_other
        gap = best - arms.means
        return _Mixture(
            middle,
            not_middle,
            kl_binary(best, not_best, middle, not_middle, other_share * gap),
            kl_binary(arms.means, not_other, middle, not_middle, -best_share * gap),
        )
