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

from icpe.core.arrays import PRNGKey, PyTree
from icpe.core.family import AbstractTaskFamily, Limits
from icpe.families.bandit.rewards import Means
from icpe.theory.characteristic_time import gaussian_characteristic_time
from icpe.theory.divergences import kl_error_prob
from icpe.theory.minimum_gap import minimum_gap_bounds

_NUM_TASKS = 1024
_NOTHING_NEEDED = 0.5
"""From this error probability on the bounds are 0."""

_ABSENT = -1e6
"""The mean of an arm that a task does not have: too bad to need a single pull."""


def gaussian_bounds(
    means: Float[Array, "tasks arms"],
    error_prob: float | None,
    *,
    noise: float,
    min_gap: float,
    finite_mean: bool,
) -> Limits:
    """The characteristic time, and the bounds for a known minimum gap.

    Negative means are those of arms that a task does not have; `finite_mean` says
    whether the expectation of T* exists.
    """
    means = jnp.where(means < 0, _ABSENT, means)
    times = jax.vmap(lambda means: gaussian_characteristic_time(means, noise).time)
    bounds = time_bounds(times(means), error_prob, finite_mean=finite_mean)
    if error_prob is None or min_gap == 0:
        return bounds
    capped = min(error_prob, _NOTHING_NEEDED)

    def known_gap(means: Means):
        return minimum_gap_bounds(means, min_gap, noise, capped)

    known = jax.vmap(known_gap)(means)
    for side, values in (("lower", known.lower), ("upper", known.upper)):
        name = f"correct_on_every_task_known_gap_{side}"
        bounds |= _mean(name, np.asarray(values, float))
    return bounds


def time_bounds(
    times: Float[Array, "tasks"],
    error_prob: float | None,
    *,
    finite_mean: bool,
    exact: bool = False,
) -> Limits:
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
    bounds: Limits = {}
    for name, scale in scales.items():
        unit = "" if name == "characteristic_time" else "_queries"
        mean: Limits = {f"{name}_mean{unit}": None, f"{name}_standard_error": None}
        if finite_mean:
            mean = dict(
                zip(mean, _mean(name, scale * values, exact).values(), strict=True)
            )
        bounds |= mean | {f"{name}_median{unit}": scale * float(np.median(values))}
    return bounds


@ft.partial(jax.jit, static_argnums=0)
def sample_tasks(family: AbstractTaskFamily, key: PRNGKey) -> PyTree:
    """The tasks over which bounds are averaged."""
    return jax.vmap(lambda key: family.sample_task(key=key))(jr.split(key, _NUM_TASKS))


def _mean(name: str, values: Float[np.ndarray, "tasks"], exact: bool = False) -> Limits:
    error = 0.0 if exact else values.std(ddof=1) / np.sqrt(values.size)
    return {name: float(values.mean()), f"{name}_standard_error": float(error)}
