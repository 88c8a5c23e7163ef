"""Nested play: every seed meets the same environments, every trajectory new noise."""

import jax.numpy as jnp
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError, OperatingPointError
from icpe.explorers import AbstractExplorer
from icpe.families import GaussianBandit
from icpe.studies.statistics.nested import evaluate_nested

FAMILY = GaussianBandit(num_arms=3, horizon=4)


class Trusting(AbstractExplorer):
    """Pulls arm after arm, and names the one with the largest single reward."""

    offset: int = 0

    def init(self, spec, operating_point, first_outcome):
        return jnp.full(3, -jnp.inf)

    def ask(self, state, query_mask, *, key):
        return jnp.argmin(state)

    def tell(self, state, query, outcome):
        return state.at[query].max(outcome[0])

    def recommend(self, state):
        return (jnp.argmax(state) + self.offset) % 3

    def log_posterior(self, state):
        return None


@pytest.fixture(scope="module")
def results():
    contenders = [Trusting(), Trusting(offset=1)]
    return evaluate_nested(
        contenders, FAMILY, environments=20, trajectories=10, budget=3
    )


def test_the_axes_are_seeds_environments_and_trajectories(results):
    assert results.correct.shape == (2, 20, 10)
    assert (results.num_queries == 3).all()
    assert (results.cost == 3.0).all()


def test_all_seeds_meet_the_same_environments_and_noise(results):
    """The second contender names another arm, so both are never right at once."""
    assert not (results.correct[0] & results.correct[1]).any()
    assert results.correct[0].any()


def test_trajectories_of_one_environment_differ_by_noise_alone(results):
    """Some environments are easy and some hard, and some are won only sometimes."""
    rates = results.correct[0].mean(axis=1)
    assert ((rates > 0) & (rates < 1)).any()
    # Under one common rate the variance of rates would be rate (1 - rate) / 10.
    rate = results.correct[0].mean()
    assert rates.var() > 1.5 * rate * (1 - rate) / 10


def test_intervals_stay_in_the_possible_range(results):
    accuracy = results.accuracy()
    assert accuracy.estimate == pytest.approx(results.correct.mean())
    assert accuracy.low >= 0.0 and accuracy.high <= 1.0
    assert results.mean_queries() == (3.0, 3.0, 3.0, 0.0)


def test_chunks_do_not_change_the_results(results, monkeypatch):
    monkeypatch.setattr(
        "icpe.studies.statistics.nested.default_chunk_size", lambda *_: 64
    )
    again = evaluate_nested(
        [Trusting()], FAMILY, environments=20, trajectories=10, budget=3
    )
    np.testing.assert_array_equal(again.correct[0], results.correct[0])


def test_impossible_input_is_refused():
    with pytest.raises(InvalidParameterError, match="contenders must not be empty"):
        evaluate_nested([], FAMILY, environments=1, trajectories=1, budget=1)
    with pytest.raises(InvalidParameterError, match="trajectories must be at least 1"):
        evaluate_nested([Trusting()], FAMILY, environments=1, trajectories=0, budget=1)
    with pytest.raises(OperatingPointError, match="horizon 4; got 9"):
        evaluate_nested([Trusting()], FAMILY, environments=1, trajectories=1, budget=9)
