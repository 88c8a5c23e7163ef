"""What one more reward of a Gaussian arm is expected to tell about the best arm.

The model is that of `icpe.theory.gaussian_gap`. A reward y of arm a changes the
likelihood of that arm alone, so that on the nodes x of the same quadrature

    P(best = k, y | data)  ∝  ∫ J_k(x) F_a(x; y) / F_a(x) dx        for k ≠ a,
    P(best = a, y | data)  ∝  ∫ J_a(x) N(y; x + gap, noise) dx,

where J_k is the integrand of the posterior and F_a(x; y) the integral of arm a's
likelihood, y included, over [0, x]. One more quadrature, over y, gives the mutual
information of the best arm and y.
"""

import functools as ft
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Num

from icpe.core.arrays import Scalar
from icpe.theory.gaussian_gap import (
    ArmLikelihoods,
    BestArmJoint,
    arm_likelihoods,
    best_arm_joint,
    log_normal_mass,
)

_TAIL = 5.0
"""Rewards are followed this many standard deviations to each side."""


@ft.partial(jax.jit, static_argnames=("num_nodes", "num_rewards"))
def best_arm_information_gains(
    counts: Num[Array, "arms"],
    sums: Float[Array, "arms"],
    *,
    min_gap: Scalar | float,
    noise: Scalar | float,
    mean_range: Scalar | float,
    next_noise: Scalar | float | None = None,
    exists: Bool[Array, "arms"] | None = None,
    log_weights: Float[Array, "arms"] | None = None,
    num_nodes: int = 32,
    num_rewards: int = 24,
) -> Float[Array, "arms"]:
    """Mutual information, in nats, of the best arm and the next reward of each arm.

    It is the expected fall of the posterior's entropy (Lindley 1956), and its
    maximizer the pull of information-directed sampling for identification (Russo and
    Van Roy 2018).

    Args:
        counts: pulls of each arm; 0 is allowed.
        sums: sum of the rewards of each arm.
        min_gap: the gap.
        noise: standard deviation of the rewards seen.
        mean_range: R, the largest possible mean.
        next_noise: that of the next reward; the same if None.
        exists: the arms that there are; all if None. Others have no gain.
        log_weights: what is known beside the rewards, as the logarithm of a factor of
            the probability that each arm is best.
        num_nodes: nodes of the quadrature in each panel.
        num_rewards: nodes of the quadrature over the next reward; about one for every
            standard deviation in its range suffices.
    """
    if next_noise is None:
        next_noise = noise
    arms = arm_likelihoods(counts, sums, noise, exists)
    grid = best_arm_joint(arms, min_gap, mean_range, num_nodes)
    log_joint = grid.log_joint
    if log_weights is not None:
        log_joint = log_joint + log_weights[:, None]
    posterior = jnp.exp(log_joint - jnp.max(log_joint))

    rewards, widths = _next_rewards(arms, mean_range, next_noise, num_rewards)
    change = _change_below(arms, grid, rewards, next_noise)
    others = jnp.einsum("ayx,kx->ayk", change, posterior)
    z = (rewards[:, :, None] - (grid.nodes + min_gap)[None, None, :]) / next_noise
    own = jnp.einsum("ayx,ax->ay", jnp.exp(_log_density(z, next_noise)), posterior)
    is_own = jnp.eye(counts.shape[0], dtype=bool)[:, None, :]
    joint = jnp.where(is_own, own[:, :, None], others) * widths[:, :, None]
    gains = _mutual_information(joint / jnp.sum(joint, axis=(1, 2), keepdims=True))
    return jnp.where(arms.exists, gains, 0.0)


def rewards_needed(noise: float, mean_range: float) -> int:
    """Nodes over the next reward: one a standard deviation, but at most 96."""
    return min(max(16, math.ceil(mean_range / noise + 2 * _TAIL)), 96)


def _next_rewards(
    arms: ArmLikelihoods,
    mean_range: Scalar | float,
    noise: Scalar | float,
    num_rewards: int,
) -> tuple[Float[Array, "arms rewards"], Float[Array, "arms rewards"]]:
    """Gauss-Legendre nodes and weights where the next reward of each arm can be."""
    center = jnp.clip(arms.mean, 0.0, mean_range)
    reach = _TAIL * jnp.sqrt(arms.sd**2 + jnp.asarray(noise) ** 2)
    lowest, highest = -_TAIL * noise, mean_range + _TAIL * noise
    low = jnp.where(arms.pulled, jnp.maximum(center - reach, lowest), lowest)
    high = jnp.where(arms.pulled, jnp.minimum(center + reach, highest), highest)
    nodes, weights = np.polynomial.legendre.leggauss(num_rewards)
    points = jnp.asarray((nodes + 1) / 2, low.dtype)[None, :]
    shares = jnp.asarray(weights / 2, low.dtype)[None, :]
    width = (high - low)[:, None]
    return low[:, None] + width * points, width * shares


def _change_below(
    arms: ArmLikelihoods,
    grid: BestArmJoint,
    rewards: Float[Array, "arms rewards"],
    noise: Scalar | float,
) -> Float[Array, "arms rewards nodes"]:
    """F_a(x; y) / F_a(x): the product of two normal densities is one, times one."""
    pulled = arms.pulled[:, None]
    mean, sd = arms.mean[:, None], arms.sd[:, None]
    spread = jnp.sqrt(sd**2 + jnp.asarray(noise) ** 2)
    log_reward = jnp.where(pulled, _log_density((rewards - mean) / spread, spread), 0.0)
    new_share = jnp.where(pulled, (sd / spread) ** 2, 1.0)
    new_mean = mean + new_share * (rewards - mean)
    new_sd = jnp.where(pulled, sd * noise / spread, noise)
    log_below = log_normal_mass(
        (-new_mean / new_sd)[:, :, None],
        grid.nodes[None, None, :] / new_sd[:, :, None],
    )
    change = jnp.exp(log_reward[:, :, None] + log_below - grid.log_below[:, None, :])
    return jnp.where(arms.exists[:, None, None], change, 0.0)


def _log_density(z: Array, sd: Array | float) -> Array:
    """Log-density of a normal variable that lies z standard deviations off."""
    return -0.5 * z * z - jnp.log(sd) - 0.5 * math.log(2 * math.pi)


def _mutual_information(
    joint: Float[Array, "arms rewards hypotheses"],
) -> Float[Array, "arms"]:
    by_hypothesis = jnp.sum(joint, axis=1, keepdims=True)
    by_reward = jnp.sum(joint, axis=2, keepdims=True)
    alone = by_hypothesis * by_reward
    ratio = jnp.where(joint > 0, joint / jnp.where(alone > 0, alone, 1.0), 1.0)
    return jnp.maximum(jnp.sum(xlogy(joint, ratio), axis=(1, 2)), 0.0)
