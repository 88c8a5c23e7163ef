"""What networks are made of, and for which prices, follows from spec and survey."""

import dataclasses

import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import PriceRange
from icpe.families import make
from icpe.learn.config import TrainConfig
from icpe.learn.pilot import Pilot
from icpe.learn.shape import net_config, price_range
from icpe.learn.survey import Survey
from icpe.nets.evidence import PredictionShape
from icpe.nets.predictions import Predictions

SPEC = TaskSpec(num_queries=2, num_hypotheses=2, outcome_size=1, horizon=40)
NOTHING = Survey(
    num_symbols=None,
    is_noisy=True,
    share_between_tasks=0.0,
    outcome_shift=(0.25,),
    outcome_scale=(3.0,),
    task_spread=(3.0,),
    predictions=None,
    trust=0.0,
    pilot=None,
)
SHAPE = PredictionShape("symbols", 1, 2, "", 0, trust=0.75)
PILOT = Pilot(
    thresholds=(0.6, 0.9, 0.99),
    accuracy=(0.7, 0.9, 0.98),
    mean_cost=(1.0, 4.0, 10.0),
    mean_queries=(1.0, 4.0, 10.0),
    at_horizon=0.981,
    before=0.5,
)


def surveyed(pilot=PILOT, trust=0.75):
    tables = Predictions.empty(SPEC, SHAPE)
    return dataclasses.replace(NOTHING, predictions=tables, trust=trust, pilot=pilot)


def networks(name, **parameters):
    return net_config(TrainConfig(), make(name, **parameters).spec, NOTHING)


def test_the_summary_is_left_out_where_it_would_be_too_large():
    assert networks("bernoulli-bandit", num_arms=10).summary
    assert not networks("bernoulli-bandit", num_arms=3000).summary


def test_queries_that_are_alike_are_judged_alike_where_there_is_a_summary():
    assert networks("gaussian-bandit").tied_head
    assert networks("feedback-graph").tied_head
    assert not networks("bernoulli-bandit", num_arms=3000).tied_head
    assert not networks("binary-search").tied_head


def test_few_queries_are_compared_with_each_other():
    assert networks("gaussian-bandit", num_arms=10).compares
    assert not networks("gaussian-bandit", num_arms=40).compares


def test_entries_are_summarized_where_outcomes_have_flags():
    assert networks("feedback-graph").entry_summary
    assert not networks("gaussian-bandit").entry_summary


def test_outcomes_are_scaled_as_the_spec_says_or_else_as_measured():
    measured = net_config(TrainConfig(), SPEC, NOTHING)
    assert (measured.outcome_shift, measured.outcome_scale) == ((0.25,), (3.0,))
    known = dataclasses.replace(SPEC, outcome_scale=(7.0,))
    said = net_config(TrainConfig(), known, NOTHING)
    assert (said.outcome_shift, said.outcome_scale) == ((), ())
    outcome = jnp.asarray([7.0])
    assert said.normalize(known, outcome) == pytest.approx(1.0)
    assert measured.normalize(SPEC, outcome) == pytest.approx(6.75 / 3)


def test_tables_are_used_with_their_trust_unless_they_are_not_wanted():
    assert net_config(TrainConfig(), SPEC, surveyed()).predictions == SHAPE
    for config, survey in (
        (TrainConfig(predictions="none"), surveyed()),
        (TrainConfig(), NOTHING),
    ):
        assert net_config(config, SPEC, survey).predictions is None


def test_without_a_pilot_prices_follow_the_horizon_unless_they_are_given():
    usual = PriceRange(0.2 / 40, 0.2)
    assert price_range(TrainConfig(), SPEC, NOTHING) == usual
    assert price_range(TrainConfig(), SPEC, surveyed(trust=0.5)) == usual
    given = TrainConfig(min_price=0.01, max_price=0.5)
    assert price_range(given, SPEC, NOTHING) == PriceRange(0.01, 0.5)
    assert price_range(given, SPEC, surveyed()) == PriceRange(0.01, 0.5)


@pytest.mark.parametrize("unit", [1e-6, 200.0])
@pytest.mark.parametrize("found", [NOTHING, "piloted"])
def test_prices_are_those_of_queries_in_whatever_money_they_are_paid(found, unit):
    def paid_in(unit):
        spec = dataclasses.replace(SPEC, costs=(unit,) * SPEC.num_queries)
        if found is NOTHING:
            return price_range(TrainConfig(), spec, NOTHING)
        costs = tuple(unit * cost for cost in PILOT.mean_cost)
        pilot = dataclasses.replace(PILOT, mean_cost=costs)
        return price_range(TrainConfig(), spec, surveyed(pilot, trust=1.0))

    one, other = paid_in(1.0), paid_in(unit)
    assert unit * other.low == pytest.approx(one.low)
    assert unit * other.high == pytest.approx(one.high)


def test_a_pilot_tells_from_which_price_on_nothing_is_worth_asking():
    """The first query gains 0.2 of accuracy; 1.2 times that is paid by nobody."""
    assert price_range(TrainConfig(), SPEC, surveyed()).high == pytest.approx(0.24)


def test_a_pilot_tells_at_which_price_accuracy_is_as_large_as_it_gets():
    """0.98 is, reached at the threshold 0.99: a fifth of the error that is left."""
    low = price_range(TrainConfig(), SPEC, surveyed(trust=1.0)).low
    assert low == pytest.approx(0.2 * 0.01)
    costly = dataclasses.replace(SPEC, costs=(1.0, 3.0))
    half = price_range(TrainConfig(), costly, surveyed(trust=1.0)).low
    assert half == pytest.approx(low / 2)


@pytest.mark.parametrize(("horizon", "expected"), [(40, 0.2 * 0.01), (400, 0.2 / 400)])
def test_networks_are_expected_to_get_further_than_tables_that_hold_in_part(
    horizon, expected
):
    spec = dataclasses.replace(SPEC, horizon=horizon)
    found = price_range(TrainConfig(), spec, surveyed(trust=0.75))
    assert found.low == pytest.approx(expected / 2)


def test_training_for_one_error_probability_has_a_narrow_range_of_prices():
    whole = price_range(TrainConfig(), SPEC, surveyed())
    narrow = price_range(TrainConfig(error_prob=0.02), SPEC, surveyed())
    assert whole.low <= narrow.low < narrow.high < whole.high
    # Accuracy 0.94, for three times the error, needs the threshold 0.99.
    assert narrow.high == pytest.approx(4 * 0.2 * 0.01)


@given(
    points=st.lists(
        st.tuples(st.floats(0.5, 1.0), st.floats(0.01, 100.0)), min_size=1, max_size=5
    ),
    at_horizon=st.floats(0.5, 1.0),
    error_prob=st.sampled_from([0.0, 1e-4, 0.05, 0.5]),
)
def test_the_range_is_never_empty(points, at_horizon, error_prob):
    accuracy, cost = zip(*sorted(points), strict=True)
    pilot = Pilot(accuracy, accuracy, cost, cost, at_horizon, before=0.5)
    config = TrainConfig(error_prob=error_prob)
    found = price_range(config, SPEC, surveyed(pilot, trust=1.0))
    assert 0 < found.low < found.high < float("inf")
