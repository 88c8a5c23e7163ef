"""Stopping thresholds: how much evidence is enough, and by which theorem.

A rule that identifies the best of K arms stops when the generalized likelihood ratio
of its leader against every rival exceeds a threshold (Garivier and Kaufmann 2016,
"Optimal best arm identification with fixed confidence", section 3). A *valid* one
keeps the probability of ever stopping with a wrong answer at or below delta on every
task, whatever the sampling rule. `heuristic_threshold` promises nothing of the kind.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import zeta

from icpe.core.arrays import Scalar

Counts = Float[Array, "*#shape"]

_NUM_LAMBDAS = 512


def heuristic_threshold(num_rewards: Counts, error_prob: Scalar) -> Counts:
    """ln((1 + ln t) / delta), the threshold of the paper. Heuristic: no theorem.

    Proposed for experiments by Garivier and Kaufmann 2016 (section 6), who saw it err
    less than delta there; the paper (appendix "Track and Stop") uses it throughout.
    """
    return jnp.log((1.0 + _log(num_rewards)) / error_prob)


def gaussian_threshold(
    leader_count: Counts, rival_count: Counts, num_arms: int, error_prob: Scalar
) -> Counts:
    """A valid threshold for one pair of Gaussian arms of known noise.

    2 C(ln((K-1) / delta) / 2) + 2 ln(4 + ln n_a) + 2 ln(4 + ln n_b), where n_a and n_b
    are the rewards seen of the two arms (Kaufmann and Koolen 2021, "Mixture
    martingales revisited", Corollary 10 for the two arms, and a union bound over the
    K-1 arms that may be taken for the best). How rewards came to be seen does not
    matter, so it holds for feedback graphs too. The leader must pass the threshold
    of every rival.
    """
    level = jnp.log((num_arms - 1.0) / error_prob)
    spread = jnp.log(4.0 + _log(leader_count)) + jnp.log(4.0 + _log(rival_count))
    return 2.0 * gaussian_deviation(level / 2.0) + 2.0 * spread


def gaussian_deviation(x: Counts) -> Counts:
    """C(x) = min over 1/2 < l < 1 of (g(l) + x) / l, about x + ln x.

    g(l) = 2 l - 2 l ln(4 l) + ln zeta(2 l) - ln(1 - l) / 2 (Kaufmann and Koolen 2021,
    Corollary 10). Every l gives a valid bound, so a minimum over a grid is one too.
    """
    # Small 1 - l matter for large x, so the grid is even in ln(1 - l).
    lambdas = 1.0 - np.geomspace(0.49, 1e-6, _NUM_LAMBDAS)
    offsets = 2 * lambdas - 2 * lambdas * np.log(4 * lambdas)
    offsets = offsets + np.log(zeta(2 * lambdas)) - np.log(1 - lambdas) / 2
    x = jnp.asarray(x)
    slopes = jnp.asarray(1.0 / lambdas, x.dtype)
    levels = jnp.asarray(offsets / lambdas, x.dtype)
    shape = (*x.shape, _NUM_LAMBDAS)
    grid = jnp.broadcast_to(x[..., None], shape) * jnp.broadcast_to(slopes, shape)
    return jnp.min(grid + jnp.broadcast_to(levels, shape), axis=-1)


def bernoulli_threshold(
    num_rewards: Counts, num_arms: int, error_prob: Scalar
) -> Counts:
    """ln(2 t (K-1) / delta), a valid threshold for Bernoulli arms.

    Garivier and Kaufmann 2016, Theorem 10; t counts all rewards seen so far.
    """
    return jnp.log(2.0 * jnp.maximum(num_rewards, 1.0) * (num_arms - 1.0) / error_prob)


def lucb_rate(num_rewards: Counts, num_arms: int, error_prob: Scalar) -> Counts:
    """ln(5 K t^4 / (4 delta)), the exploration rate of LUCB1, which is valid.

    Kalyanakrishnan, Tewari, Auer and Stone 2012, "PAC subset selection in stochastic
    multi-armed bandits", for rewards in [0, 1]; by the same union bound over arms and
    times for Gaussian rewards of known noise, whose tails obey the same inequality.
    """
    log_time = _log(num_rewards)
    return jnp.log(1.25 * num_arms / error_prob) + 4.0 * log_time


def kl_lucb_rate(num_rewards: Counts, num_arms: int, error_prob: Scalar) -> Counts:
    """ln(2 K t^2 / delta), an exploration rate of KL-LUCB that is valid.

    Kaufmann and Kalyanakrishnan 2013, "Information complexity in bandit subset
    selection", Theorem 1: ln(k K t^a / delta) with a > 1 and k > 1 + 1 / (a - 1), here
    for a = 2. (A union bound over one side of each arm and over its number of rewards
    needs no more than k = zeta(2) = 1.645, so that k = 2 is enough.)
    """
    log_time = _log(num_rewards)
    return jnp.log(2.0 * num_arms / error_prob) + 2.0 * log_time


def finite_model_threshold(num_hypotheses: int, error_prob: Scalar) -> Scalar:
    """ln((H-1) / delta), valid for the least likelihood ratio of one task to others.

    Under the true task each ratio of another task's likelihood to its own is a
    martingale of mean 1, so that it ever reaches (H-1) / delta with probability at
    most delta / (H-1) (Ville's inequality). Chernoff 1959 stops at a threshold of
    this order.
    """
    return jnp.log((num_hypotheses - 1.0) / error_prob)


def _log(count: Counts) -> Counts:
    """ln(count), and 0 for less than one reward."""
    return jnp.log(jnp.maximum(count, 1.0))
