import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from icpe.core.episode import STOP
from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.core.request import OperatingPoint
from icpe.explorers import explorer_parameters, make_explorer
from icpe.explorers.classical.kl_lucb import KlIntervals
from icpe.explorers.classical.lucb import HoeffdingIntervals
from icpe.families import BernoulliBandit, GaussianBandit, NoisyBinarySearch
from icpe.families.bandit.arms import BernoulliArms, GaussianArms, Seen
from icpe.testing import check_explorer

DELTA = jnp.float32(0.1)
FAMILY = GaussianBandit(num_arms=3)


def test_gaussian_intervals_are_as_wide_as_the_rate_says():
    seen = Seen(jnp.array([4.0, 9.0]), jnp.array([4.0, 0.0]), jnp.array([4, 9]))
    got = HoeffdingIntervals(GaussianArms(2, 0.5), "valid").at(seen, DELTA)
    rate = np.log(5 * 2 * 13**4 / (4 * 0.1))
    widths = 0.5 * np.sqrt(2 * rate / np.array([4, 9]))
    np.testing.assert_allclose(got.high, [1 + widths[0], widths[1]], rtol=1e-5)
    np.testing.assert_allclose(got.low, [1 - widths[0], -widths[1]], rtol=1e-5)


@pytest.mark.parametrize("threshold", ["heuristic", "valid"])
def test_kl_intervals_end_where_the_divergence_reaches_the_rate(threshold):
    counts, sums = np.array([20.0, 10.0, 5.0]), np.array([15.0, 3.0, 0.0])
    seen = Seen(jnp.float32(counts), jnp.float32(sums), jnp.int32(counts))
    got = KlIntervals(BernoulliArms(3, 1), threshold).at(seen, DELTA)
    valid = np.log(2 * 3 * 35**2 / 0.1)
    rate = valid if threshold == "valid" else np.log((1 + np.log(35)) / 0.1)

    def excess(q, p, n):
        terms = [x * np.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0]
        return n * sum(terms) - rate

    for arm, (p, n) in enumerate(zip(sums / counts, counts, strict=True)):
        high = brentq(excess, p + 1e-9, 1 - 1e-12, args=(p, n))
        low = brentq(excess, 1e-12, p - 1e-9, args=(p, n)) if p else 0.0
        assert float(got.high[arm]) == pytest.approx(high, abs=1e-5)
        assert float(got.low[arm]) == pytest.approx(low, abs=1e-5)


def test_a_round_is_the_leader_and_then_its_challenger(asked):
    explorer = make_explorer("lucb", FAMILY)
    once = [(0, 0.5), (1, 0.9), (2, 0.1)]
    assert [asked(explorer, FAMILY, once[:n]) for n in range(3)] == [0, 1, 2]
    assert asked(explorer, FAMILY, once) == 1
    # The challenger was chosen with the leader: a bad reward of the leader changes
    # who leads, but not whose turn it is.
    assert asked(explorer, FAMILY, [*once, (1, -5.0)]) == 0
    # Arms 0 and 1 have two pulls each now; the next leader is arm 0.
    assert asked(explorer, FAMILY, [*once, (1, -5.0), (0, 0.5)]) == 0


def test_it_stops_when_the_leader_stands_clear(asked):
    explorer = make_explorer("lucb", FAMILY)
    close, clear = [(0, 0.0), (1, 0.4), (2, 0.0)], [(0, 0.0), (1, 9.0), (2, 0.0)]
    assert asked(explorer, FAMILY, close * 2) != STOP
    assert asked(explorer, FAMILY, clear * 2) == STOP


def test_a_budget_is_refused():
    explorer = make_explorer("lucb", FAMILY)
    with pytest.raises(OperatingPointError, match="cannot serve a budget"):
        explorer.init(FAMILY.spec, OperatingPoint.at(100, budget=5), jnp.zeros(1))


def test_an_unknown_threshold_is_refused():
    with pytest.raises(InvalidParameterError, match="one of heuristic, valid"):
        make_explorer("kl-lucb", BernoulliBandit(), threshold="tight")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lucb", "kl-lucb"])
def test_they_keep_the_contract(name):
    family = BernoulliBandit(num_arms=3)
    check_explorer(make_explorer(name, family), family)


def test_the_default_rate_is_the_one_with_a_theorem(asked):
    """ln(5 K t^4 / (4 delta)) for LUCB1, ln(2 K t^2 / delta) for KL-LUCB."""
    assert explorer_parameters("lucb")["threshold"].default == "valid"
    assert explorer_parameters("kl-lucb")["threshold"].default == "valid"
    # Six rewards of three arms at delta 0.1: the leader stands clear as soon as its
    # lead is two widths of 0.5 sqrt(2 rate / 2).
    width = 0.5 * np.sqrt(np.log(1.25 * 3 / 0.1) + 4 * np.log(6))
    for lead, stops in ((2 * width - 0.05, False), (2 * width + 0.05, True)):
        rewards = [(0, 0.0), (1, float(lead)), (2, 0.0)] * 2
        query = asked(make_explorer("lucb", FAMILY), FAMILY, rewards)
        assert (query == STOP) == stops
        # A quarter of the rate halves the widths.
        query = asked(make_explorer("lucb", FAMILY, scale=0.25), FAMILY, rewards)
        assert query == STOP


def test_a_scale_is_a_positive_number():
    for name in ("lucb", "track-and-stop", "ttps", "ttts", "eb-tc", "uniform-sampling"):
        with pytest.raises(InvalidParameterError, match="scale must be a positive"):
            make_explorer(name, FAMILY, scale=0.0)
    with pytest.raises(InvalidParameterError, match="which another error_prob moves"):
        make_explorer("chernoff", NoisyBinarySearch(size=3), scale=0.5)
    make_explorer("chernoff", NoisyBinarySearch(size=3), scale=0.5, threshold="valid")
