"""Confidence bounds for probabilities and means that hold for every sample size."""

from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.stats
from numpy.typing import ArrayLike

from icpe.core.checks import check_confidence
from icpe.core.errors import InvalidParameterError


class Interval(NamedTuple):
    """A two-sided confidence interval, ends included."""

    low: np.ndarray
    high: np.ndarray


def clopper_pearson_lower(
    successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> np.ndarray:
    """One-sided lower bound of a success probability.

    For X ~ Binomial(n, p), P(bound(X) <= p) >= confidence for every n and p
    (Clopper and Pearson, 1934). The bound is the p at which X or more successes have
    probability 1 - confidence, and 0 if there was no success.
    """
    x, n = _counts(successes, trials)
    check_confidence(confidence)
    with np.errstate(invalid="ignore"):
        bound = scipy.stats.beta.ppf(1 - confidence, x, n - x + 1)
    return np.where(x == 0, 0.0, bound)


def clopper_pearson_upper(
    successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> np.ndarray:
    """One-sided upper bound of a success probability; see `clopper_pearson_lower`."""
    x, n = _counts(successes, trials)
    return np.asarray(1 - clopper_pearson_lower(n - x, n, confidence))


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> Interval:
    """Two-sided interval of a success probability.

    For X ~ Binomial(n, p), P(low(X) <= p <= high(X)) >= confidence for every n and p:
    each side errs with probability at most (1 - confidence) / 2.
    """
    check_confidence(confidence)
    one_sided = (1 + confidence) / 2
    return Interval(
        clopper_pearson_lower(successes, trials, one_sided),
        clopper_pearson_upper(successes, trials, one_sided),
    )


def hoeffding(
    mean: ArrayLike,
    num_samples: ArrayLike,
    confidence: float = 0.95,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> Interval:
    """Two-sided interval of the mean of independent variables in [low, high].

    The sample mean of n of them deviates from its expectation by t or more with
    probability at most 2 exp(-2 n t^2 / (high - low)^2) (Hoeffding, 1963, theorem 2).
    """
    check_confidence(confidence)
    if not low < high:
        raise InvalidParameterError(
            f"low must be smaller than high; got low={low} and high={high}."
        )
    n = np.asarray(num_samples, float)
    if np.any(n < 1):
        raise InvalidParameterError(
            f"num_samples must be at least 1; got {num_samples}."
        )
    radius = (high - low) * np.sqrt(np.log(2 / (1 - confidence)) / (2 * n))
    mean = np.asarray(mean)
    return Interval(
        np.asarray(np.maximum(mean - radius, low)),
        np.asarray(np.minimum(mean + radius, high)),
    )


def mean_interval(
    values: ArrayLike, confidence: float = 0.95, *, counts: ArrayLike | None = None
) -> Interval:
    """Two-sided interval of a mean by Student's t, over the last axis.

    Exact for Gaussian values and asymptotically right for any law with a variance, by
    the central limit theorem; unlike the other bounds here it is no guarantee at
    small samples. One value gives an infinite interval.

    Args:
        values: what is averaged.
        confidence: of the interval.
        counts: how often each of the values occurs; once each if None.
    """
    check_confidence(confidence)
    values = np.asarray(values, float)
    weights = np.ones(values.shape[-1:]) if counts is None else np.asarray(counts)
    n = weights.sum() if values.ndim else 0
    if n == 0:
        raise InvalidParameterError("values must have at least one entry; got none.")
    mean = np.asarray(values @ weights / n)
    if n == 1:
        return Interval(np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    squares = np.square(values - mean[..., None]) @ weights
    radius = scipy.stats.t.ppf((1 + confidence) / 2, n - 1) * np.sqrt(
        squares / (n - 1) / n
    )
    return Interval(np.asarray(mean - radius), np.asarray(mean + radius))


def bounded_mean_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    *,
    counts: ArrayLike | None = None,
    low: float,
    high: float,
) -> Interval:
    """Two-sided interval of the mean of variables in [low, high].

    By empirical likelihood (Owen, "Empirical likelihood ratio confidence intervals for
    a single functional", 1988): it holds the means of all reweightings of the sample
    that are not much less likely than the sample itself. Unlike Student's t it follows
    the skewness of the sample. For each end half an observation at that end of the
    range is added (as by Jeffreys' prior for a probability), since a few rare large
    values may be missing from the sample and still carry the mean. No guarantee, but
    close to the confidence from some hundred values on, rare extremes or not.

    Args:
        values: what is averaged.
        confidence: of the interval.
        counts: how often each of the values occurs; once each if None.
        low: the smallest possible value.
        high: the largest possible value.
    """
    check_confidence(confidence)
    x = np.asarray(values, float)
    w = np.ones(len(x)) if counts is None else np.asarray(counts, float)
    x, w = x[w > 0], w[w > 0]
    if not len(x):
        raise InvalidParameterError("values must have at least one entry; got none.")
    if x.min() < low or x.max() > high:
        raise InvalidParameterError(
            f"values must lie between {low:g} and {high:g}; got {x.min():g} to "
            f"{x.max():g}."
        )
    if w.sum() == 1:
        return Interval(np.asarray(low, float), np.asarray(high, float))
    limit = float(scipy.stats.t.ppf((1 + confidence) / 2, w.sum() - 1)) ** 2
    return Interval(
        np.asarray(-_largest_likely_mean(-x, w, -low, limit)),
        np.asarray(_largest_likely_mean(x, w, high, limit)),
    )


def _largest_likely_mean(
    x: np.ndarray, w: np.ndarray, end: float, limit: float
) -> float:
    """The largest mean whose empirical log-likelihood ratio, doubled, is `limit`."""
    x, w = np.append(x, end), np.append(w, 0.5)
    apart = end - x
    if not apart.any():
        return end
    scale = np.log(apart.max())
    found = scipy.optimize.root_scalar(
        _excess_ratio, (apart, w, limit), bracket=(scale - 80.0, scale + 30.0)
    )
    weights = w / (np.exp(found.root) + apart)
    return float(weights @ x / weights.sum())


def _excess_ratio(log_gap, apart, w, limit):
    """By how much the doubled log-likelihood ratio exceeds the limit.

    The likeliest weights for a larger mean are w / (c - x) for some c above all x,
    normalized: the closer c, the larger the mean and the less likely.
    """
    gap = np.exp(log_gap) + apart
    share = (w / gap).sum() / w.sum()
    return 2.0 * (w @ np.log(share * gap)) - limit


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, n = np.asarray(successes, float), np.asarray(trials, float)
    if np.any(n < 1) or np.any(x < 0) or np.any(x > n):
        raise InvalidParameterError(
            "successes must be between 0 and trials, and trials at least 1; got "
            f"successes={successes} and trials={trials}."
        )
    return x, n
