"""The paper's examples against information-directed sampling."""

import pytest

from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.studies.statistics.myopia import OPTIMUM, myopic_rows


def test_information_directed_sampling_starts_wrong_and_needs_more_than_the_optimum():
    rows = list(myopic_rows(range(7, 13), 0.1))
    assert {row.example for row in rows} == {"two-pull-bandit", "two-link-chain"}
    assert len(rows) == 12
    for row in rows:
        assert row.starts_with_arm_zero is False
        assert row.least_mean_queries is not None
        assert row.least_mean_queries > OPTIMUM + 0.4
        assert row.simulated is None


@pytest.mark.parametrize(
    ("num_arms", "error_prob", "error"),
    [(3, 0.1, InvalidParameterError), (7, 0.0, OperatingPointError)],
)
def test_impossible_requests_are_refused(num_arms, error_prob, error):
    with pytest.raises(error, match="must"):
        next(myopic_rows([num_arms], error_prob))


@pytest.mark.slow
def test_simulated_episodes_show_the_same():
    """Means are compared with five standard errors: false alarm 3e-7 each."""
    two_pull, _, chain = myopic_rows([7], 0.1, episodes=256)
    assert (two_pull.example, chain.example) == ("two-pull-bandit", "magic-chain")
    for row in (two_pull, chain):
        assert row.simulated is not None
        assert row.simulated.starts_with_arm_zero == 0.0
        surplus = row.simulated.mean_queries - OPTIMUM
        assert surplus > 5 * row.simulated.standard_error
    # Forced to answer at the horizon of 100, it is still wrong quite often.
    assert two_pull.simulated is not None and two_pull.least_mean_queries is not None
    assert two_pull.simulated.mean_queries > two_pull.least_mean_queries
    assert two_pull.simulated.accuracy < 0.8
