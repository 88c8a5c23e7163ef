"""Reliability of hand-made beliefs and of exact ones."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError, UnsupportedError
from icpe.evaluate.reliability import Reliability, measure_reliability
from icpe.explorers import AbstractExplorer, make_explorer
from icpe.families import GaussianBandit
from icpe.testing.toy_artifacts import guesser

STATED = np.array([0.1, 0.15, 0.55, 0.9, 1.0])
RIGHT = np.array([False, True, True, True, True])


def test_the_curve_and_its_errors_are_those_of_the_counts():
    found = Reliability.of(STATED, RIGHT, num_bins=2)
    assert found.episodes.tolist() == [2, 3]
    np.testing.assert_allclose(found.confidence, [0.125, 2.45 / 3])
    np.testing.assert_allclose(found.accuracy, [0.5, 1.0])
    assert found.edges.tolist() == [0.0, 0.5, 1.0]
    # (2 * 0.375 + 3 * (0.55 / 3)) / 5 and the squares 0.01, 0.7225, 0.2025, 0.01, 0.
    assert found.expected_calibration_error == pytest.approx(0.26)
    assert found.largest_calibration_error == pytest.approx(0.375)
    assert found.brier_score == pytest.approx(0.945 / 5)


def test_disjoint_sets_add_up():
    parts = Reliability.of(STATED[:2], RIGHT[:2]) + Reliability.of(
        STATED[2:], RIGHT[2:]
    )
    whole = Reliability.of(STATED, RIGHT)
    np.testing.assert_array_equal(parts.episodes, whole.episodes)
    assert parts.expected_calibration_error == whole.expected_calibration_error
    assert parts.brier_score == pytest.approx(whole.brier_score)


def test_empty_bins_are_not_a_number_and_do_not_count():
    found = Reliability.of(np.array([0.95, 0.97]), np.array([True, True]), num_bins=10)
    assert np.isnan(found.accuracy[:9]).all()
    assert found.accuracy[9] == 1.0
    low, high = found.accuracy_interval()
    assert np.isnan(low[:9]).all()
    # Two right answers of two: the lower end solves low^2 = 0.025.
    assert (low[9], high[9]) == pytest.approx((np.sqrt(0.025), 1.0))
    assert found.expected_calibration_error == pytest.approx(0.04)


@pytest.mark.slow
def test_an_exact_posterior_is_reliable():
    """The error of an exact belief is noise alone, 0.4 sqrt(bins / episodes) at most.

    That is 0.025 here. It is a mean over bins; it exceeds twice its bound with
    probability less than 1e-6.
    """
    family = GaussianBandit(num_arms=3, horizon=8)
    explorer = make_explorer("top-two", family)
    found = measure_reliability(explorer, family, budget=4, episodes=2048, num_bins=8)
    assert found.episodes.sum() == 2048
    assert found.expected_calibration_error < 0.05
    # Most episodes are not certain, so the agreement is not that of a trivial belief.
    assert np.sum(found.episodes[:-1]) > 200


@pytest.mark.slow
def test_a_belief_that_knows_nothing_is_reliable_about_it():
    artifact = guesser(size=4)
    found = measure_reliability(artifact, artifact.family, price=0.05, episodes=512)
    stated = found.confidence[found.episodes > 0]
    np.testing.assert_allclose(stated, [0.25], rtol=1e-5)
    # 0.25 +- 0.019; five standard deviations: false alarm 6e-7.
    assert found.expected_calibration_error < 0.096


class Silent(AbstractExplorer):
    """Has no belief."""

    def init(self, spec, operating_point, first_outcome):
        return jnp.zeros(())

    def ask(self, state, query_mask, *, key):
        return jnp.argmax(query_mask)

    def tell(self, state, query, outcome):
        return state

    def recommend(self, state):
        return jnp.zeros((), jnp.int32)

    def log_posterior(self, state):
        return None


def test_an_explorer_without_a_belief_is_refused():
    family = GaussianBandit(num_arms=3, horizon=8)
    with pytest.raises(UnsupportedError, match="no belief"):
        measure_reliability(Silent(), family, budget=1, episodes=4)


def test_no_bins_are_refused():
    with pytest.raises(InvalidParameterError, match="num_bins must be at least 1"):
        Reliability.of(STATED, RIGHT, num_bins=0)
