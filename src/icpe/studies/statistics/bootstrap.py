"""Intervals for results with a nested structure: seeds, environments, trajectories.

Trajectories of one environment resemble one another, and so do environments seen by
one trained model. Counting every trajectory as independent gives intervals that are
far too narrow; the hierarchical bootstrap draws whole seeds, whole environments inside
them, and trajectories inside those.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Float

from icpe.core.checks import check_at_least
from icpe.core.errors import InvalidParameterError
from icpe.theory.intervals import check_confidence

_NUMBERS_AT_ONCE = 2**22

Statistic = Callable[[Float[np.ndarray, "resamples ..."]], np.ndarray]
"""From resampled values, the resamples leading, to one number for each resample."""


class BootstrapInterval(NamedTuple):
    """An estimate with its interval, and the spread of its resamples."""

    estimate: float
    low: float
    high: float
    standard_error: float


def mean(values: Float[np.ndarray, "resamples ..."]) -> np.ndarray:
    """The mean of every resample."""
    return values.mean(axis=tuple(range(1, values.ndim)))


def hierarchical_bootstrap(
    values: Float[np.ndarray, "..."],
    *,
    statistic: Statistic = mean,
    confidence: float = 0.95,
    interval: Literal["t", "percentile"] = "t",
    resamples: int = 2000,
    seed: int = 0,
) -> BootstrapInterval:
    """Two-sided interval of a statistic of nested values.

    For Y = mu + seed + environment + trajectory effects, with m seeds, K environments
    each and N trajectories each, the variance of a mean is var_seed / m +
    var_env / (m K) + var_traj / (m K N), where drawing all values alike would see
    1 / (m K N) of their sum. Two kinds of interval account for that.

    `"percentile"`, as in the paper: every axis is drawn with replacement, the inner
    ones afresh inside every draw of the outer ones, and the interval lies between
    quantiles of the resamples (Saravanan, Berman and Sober 2020). With few outer units
    it is too narrow: it covers about 0.82 for m = 3 and 0.89 for m = 5 instead of 0.95.

    `"t"`: whole outer units are drawn and kept as they are, since their differences
    contain the variance of all inner levels (Davison and Hinkley 1997, section 3.8);
    the interval is estimate -+ t s sqrt(m / (m - 1)), with s the standard deviation of
    the resamples and t the quantile of Student's law with m - 1 degrees of freedom. It
    covers as stated for means of Gaussian effects, whatever m is.

    Args:
        values: one axis per level, outermost first, such as (seeds, environments,
            trajectories). An axis of length 1 is not resampled: the interval is then
            about that one seed, or environment.
        statistic: what is estimated.
        confidence: probability with which the interval is to cover.
        interval: the kind of interval.
        resamples: number of resamples.
        seed: seed of the resampling.
    """
    check_confidence(confidence)
    check_at_least("resamples", resamples, 2)
    values = np.asarray(values, float)
    if values.ndim == 0 or values.size < 2 or not np.all(np.isfinite(values)):
        raise InvalidParameterError(
            "values must be at least two finite numbers with an axis for each level; "
            f"got an array of shape {values.shape}."
        )
    drawn = np.concatenate(
        [
            np.asarray(statistic(part))
            for part in _resampled(values, interval == "t", resamples, seed)
        ]
    )
    estimate = float(np.asarray(statistic(values[None]))[0])
    error = float(drawn.std(ddof=1))
    tail = (1.0 - confidence) / 2.0
    if interval == "percentile":
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
    else:
        units = next(size for size in values.shape if size > 1)
        factor = np.sqrt(units / (units - 1.0))
        radius = scipy.stats.t.ppf(1.0 - tail, units - 1) * factor * error
        low, high = estimate - radius, estimate + radius
    return BootstrapInterval(estimate, float(low), float(high), error)


def _resampled(
    values: Float[np.ndarray, "..."], outer_only: bool, resamples: int, seed: int
) -> Iterator[Float[np.ndarray, "resamples ..."]]:
    """Resamples in parts that fit comfortably into memory."""
    rng = np.random.default_rng(seed)
    outer = next(axis for axis, size in enumerate(values.shape) if size > 1)
    depth = outer + 1 if outer_only else values.ndim
    size = max(1, _NUMBERS_AT_ONCE // values.size)
    for first in range(0, resamples, size):
        number = min(size, resamples - first)
        yield values[_indices(values.shape[:depth], number, rng)]


def _indices(
    shape: tuple[int, ...], resamples: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """For each axis, which entry is drawn: afresh in every draw of the outer axes."""
    depth = len(shape)
    return tuple(
        rng.integers(
            size, size=(resamples, *shape[: axis + 1], *(1,) * (depth - axis - 1))
        )
        for axis, size in enumerate(shape)
    )
