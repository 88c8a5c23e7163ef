import numpy as np
import pytest
from scipy import stats

from icpe.core.errors import InvalidParameterError
from icpe.theory.intervals import (
    bounded_mean_interval,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    hoeffding,
    mean_interval,
)

PROBABILITIES = np.linspace(0.0, 1.0, 101)


def coverage(low, high, trials):
    """P(low(X) <= p <= high(X)) for X ~ Binomial(trials, p), by enumeration."""
    outcomes = np.arange(trials + 1)
    p = PROBABILITIES[:, None]
    covered = (low <= p + 1e-12) & (p <= high + 1e-12)
    return np.sum(stats.binom.pmf(outcomes, trials, p) * covered, axis=1)


@pytest.mark.parametrize("trials", [1, 2, 7, 40])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_clopper_pearson_covers_at_every_probability(trials, confidence):
    outcomes = np.arange(trials + 1)
    lower = clopper_pearson_lower(outcomes, trials, confidence)
    upper = clopper_pearson_upper(outcomes, trials, confidence)
    both = clopper_pearson(outcomes, trials, confidence)
    for low, high in ((lower, np.inf), (-np.inf, upper), both):
        assert coverage(low, high, trials).min() >= confidence - 1e-9


def test_clopper_pearson_is_the_inverse_of_the_exact_test():
    bound = clopper_pearson_lower(np.arange(1, 21), 20, 0.95)
    at_least = stats.binom.sf(np.arange(1, 21) - 1, 20, bound)
    np.testing.assert_allclose(at_least, 0.05, rtol=1e-9)


def test_clopper_pearson_without_failures_has_its_closed_form():
    assert clopper_pearson_lower(50, 50, 0.95) == pytest.approx(0.05 ** (1 / 50))
    assert clopper_pearson_upper(50, 50) == 1
    assert clopper_pearson_lower(0, 50) == 0


def test_bounds_are_vectorized_over_counts_and_trials():
    low, high = clopper_pearson([[3], [4]], [10, 20, 30])
    assert low.shape == high.shape == (2, 3)
    assert low[1, 2] == clopper_pearson(4, 30).low


@pytest.mark.parametrize("trials", [1, 5, 30])
def test_hoeffding_covers_at_every_probability(trials):
    low, high = hoeffding(np.arange(trials + 1) / trials, trials, 0.9)
    assert coverage(low, high, trials).min() >= 0.9


def test_hoeffding_has_its_closed_form_and_stays_in_the_range():
    low, high = hoeffding(3.0, 200, 0.95, low=1.0, high=5.0)
    assert high - 3.0 == pytest.approx(4 * np.sqrt(np.log(40) / 400))
    assert low == pytest.approx(6.0 - high)
    assert hoeffding(4.9, 2, low=1.0, high=5.0).high == 5.0


def test_mean_interval_is_students():
    low, high = mean_interval([1.0, 2.0, 3.0])
    # The 0.975 quantile of t with 2 degrees of freedom is 4.3027; the deviation is 1.
    assert high == pytest.approx(2 + 4.302653 / np.sqrt(3), rel=1e-6)
    assert low == pytest.approx(4 - high)


def test_mean_interval_covers_gaussian_values_as_often_as_stated():
    rng = np.random.default_rng(0)
    low, high = mean_interval(rng.normal(3.0, 2.0, (4000, 5)), 0.9)
    covered = np.sum((low <= 3) & (high >= 3))
    # Exactly Binomial(4000, 0.9); five standard deviations: false alarm 6e-7.
    assert abs(covered - 3600) < 5 * np.sqrt(4000 * 0.09)


def test_one_value_bounds_nothing():
    assert mean_interval([2.0]) == (-np.inf, np.inf)
    counted = mean_interval([1.0, 2.0, 5.0], counts=[3, 0, 2])
    np.testing.assert_allclose(counted, mean_interval([1.0, 1.0, 1.0, 5.0, 5.0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda: clopper_pearson(5, 4),
        lambda: clopper_pearson(-1, 4),
        lambda: clopper_pearson_upper(0, 0),
        lambda: clopper_pearson(1, 4, 1.0),
        lambda: hoeffding(0.5, 0),
        lambda: hoeffding(0.5, 3, low=1.0, high=1.0),
        lambda: mean_interval([]),
        lambda: mean_interval([1.0], 0.0),
    ],
)
def test_impossible_input_is_refused(call):
    with pytest.raises(InvalidParameterError, match="must"):
        call()


def test_of_a_share_the_bounded_interval_is_that_of_its_likelihood_ratio():
    """With values 0 and 1 the ratio is a binomial one, half a trial added at an end."""
    found = bounded_mean_interval([0, 1], counts=[700, 300], low=0, high=1)
    limit = stats.t.ppf(0.975, 999) ** 2
    for p, right in ((float(found.high), 300.5), (float(found.low), 300.0)):
        wrong = 1000.5 - right
        ratio = right * np.log(right / 1000.5 / p)
        ratio += wrong * np.log(wrong / 1000.5 / (1 - p))
        assert 2 * ratio == pytest.approx(limit, rel=1e-6)
    assert found.low < 0.3 < found.high


def test_where_all_values_are_alike_rare_others_may_be_missing():
    found = bounded_mean_interval([3.0], counts=[1000], low=0, high=64)
    assert 2.9 < found.low < 3.0 < found.high < 3.4
    at_the_end = bounded_mean_interval([64.0], counts=[1000], low=0, high=64)
    assert at_the_end.high == 64.0 and at_the_end.low < 64.0


def test_with_many_values_the_bounded_interval_is_that_of_student():
    values = np.random.default_rng(0).uniform(size=100_000)
    found = bounded_mean_interval(values, low=0.0, high=1.0)
    expected = mean_interval(values)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_values_outside_the_range_are_refused():
    with pytest.raises(InvalidParameterError, match="between 0 and 2; got 1 to 3"):
        bounded_mean_interval([1.0, 3.0], low=0, high=2)
