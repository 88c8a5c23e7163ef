import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.theory.frontier import Frontier


def test_cost_between_two_prices_is_that_of_a_random_mixture():
    frontier = Frontier(
        prices=np.array([0.01, 0.1, 0.5]),
        mean_cost=np.array([5.0, 3.0, 0.0]),
        accuracy=np.array([0.98, 0.9, 0.5]),
    )
    assert frontier.mean_cost_at(0.94) == pytest.approx(4.0)
    assert frontier.mean_cost_at(0.9) == pytest.approx(3.0)
    assert frontier.mean_cost_at(0.3) == 0.0
    with pytest.raises(InvalidParameterError, match=r"at most 0.98.*smaller prices"):
        frontier.mean_cost_at(0.99)
