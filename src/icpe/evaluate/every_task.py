"""Bounds for methods that are correct on every task, averaged over the prior.

A method that errs with probability at most delta on *every* task of a class makes, on
a task with characteristic time T*, at least T* kl(delta, 1 - delta) queries on average
(Garivier and Kaufmann 2016, Theorem 1). Here T* is computed on tasks drawn from the
prior. An explorer that knows the prior and errs with probability delta *on average*
need not obey this and may make fewer queries, so these bounds are no limits for it.
"""

import functools as ft

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from icpe.core.arrays import PRNGKey
from icpe.core.family import AbstractTaskFamily
from icpe.families.bandits import GaussianBandit
from icpe.families.bernoulli_bandit import BernoulliBandit
from icpe.families.feedback_graph.law import FeedbackGraph
from icpe.families.magic_action.law import MagicAction
from icpe.families.shifted_gaussian_bandit import ShiftedGaussianBandit
from icpe.theory.characteristic_time import (
    bernoulli_characteristic_time,
    gaussian_characteristic_time,
)
from icpe.theory.divergences import kl_error_prob
from icpe.theory.feedback_graph_time import feedback_graph_time
from icpe.theory.magic_action import magic_action_time
from icpe.theory.minimum_gap import minimum_gap_bounds

Bounds = dict[str, float | int | None]
Times = Float[Array, "tasks"]

_NUM_TASKS = 1024
_NOTHING_NEEDED = 0.5
"""From this error probability on the bounds are 0."""

_ABSENT = -1e6
"""The mean of an arm that a task does not have: too bad to need a single pull."""


def gaussian_bounds(
    family: GaussianBandit | ShiftedGaussianBandit,
    error_prob: float | None,
    *,
    key: PRNGKey,
) -> Bounds:
    """The characteristic time, and the bounds for a known minimum gap."""
    means = _sample(family, key)
    means = jnp.where(means < 0, _ABSENT, means)
    noise, min_gap = family.noise, family.min_gap
    times = jax.vmap(lambda means: gaussian_characteristic_time(means, noise).time)(
        means
    )
    # Top gaps of nearly 0 are so rare only if spacings are Dirichlet with a > 2.
    evenly = isinstance(family, ShiftedGaussianBandit) and family.concentration > 2
    bounds = _summary(times, error_prob, finite_mean=min_gap > 0 or evenly)
    if error_prob is None or min_gap == 0:
        return bounds
    capped = min(error_prob, _NOTHING_NEEDED)
    known = jax.vmap(lambda means: minimum_gap_bounds(means, min_gap, noise, capped))(
        means
    )
    for side, values in (("lower", known.lower), ("upper", known.upper)):
        name = f"correct_on_every_task_known_gap_{side}"
        bounds |= _mean(name, np.asarray(values, float))
    return bounds


def bernoulli_bounds(
    family: BernoulliBandit, error_prob: float | None, *, key: PRNGKey
) -> Bounds:
    """The characteristic time in queries, each of which shows a whole batch."""
    rates = _sample(family, key)
    times = jax.vmap(lambda rates: bernoulli_characteristic_time(rates).time)(rates)
    return _summary(
        times / family.batch_size, error_prob, finite_mean=family.min_gap > 0
    )


def magic_action_bounds(
    family: MagicAction, error_prob: float | None, *, key: PRNGKey
) -> Bounds:
    """The paper's theorem on the magic action."""
    tasks = _sample(family, key)
    code = jnp.asarray(np.arange(1, family.num_arms + 1) / family.num_arms, jnp.float32)

    def time(task):
        noise = task.magic_noise
        return magic_action_time(task.means, code, noise, 1.0 - noise).time

    return _summary(jax.vmap(time)(tasks), error_prob, finite_mean=True)


def feedback_graph_bounds(
    family: FeedbackGraph, error_prob: float | None, *, key: PRNGKey
) -> Bounds:
    """The characteristic time of the graph; exact where there are only K tasks."""
    one_best = family.prior == "one-best"
    means = 0.5 + 0.5 * jnp.eye(family.num_arms) if one_best else _sample(family, key)
    graph = jnp.asarray(family.graph, means.dtype)
    times = jax.vmap(lambda means: feedback_graph_time(means, graph, family.noise).time)
    return _summary(times(means), error_prob, finite_mean=one_best, exact=one_best)


@ft.partial(jax.jit, static_argnums=0)
def _sample(family: AbstractTaskFamily, key: PRNGKey):
    return jax.vmap(lambda key: family.sample_task(key=key))(jr.split(key, _NUM_TASKS))


def _summary(
    times: Times, error_prob: float | None, *, finite_mean: bool, exact: bool = False
) -> Bounds:
    """Mean, its standard error and median of T*, alone and times kl.

    The mean is None where it is infinite: where the gap can be arbitrarily small, T*
    grows like 1 / gap^2, whose expectation does not exist. With `exact` the tasks are
    all there are, so that the mean has no error.
    """
    values = np.asarray(times, float)
    scales = {"characteristic_time": 1.0}
    if error_prob is not None:
        factor = kl_error_prob(min(error_prob, _NOTHING_NEEDED))
        scales["correct_on_every_task"] = float(factor)
    bounds: Bounds = {}
    for name, scale in scales.items():
        unit = "" if name == "characteristic_time" else "_queries"
        mean: Bounds = {f"{name}_mean{unit}": None, f"{name}_standard_error": None}
        if finite_mean:
            mean = dict(
                zip(mean, _mean(name, scale * values, exact).values(), strict=True)
            )
        bounds |= mean | {f"{name}_median{unit}": scale * float(np.median(values))}
    return bounds


def _mean(name: str, values: Float[np.ndarray, "tasks"], exact: bool = False) -> Bounds:
    error = 0.0 if exact else values.std(ddof=1) / np.sqrt(values.size)
    return {name: float(values.mean()), f"{name}_standard_error": float(error)}
