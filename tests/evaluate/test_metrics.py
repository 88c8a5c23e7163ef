"""Tallies against plain numpy on the episodes themselves."""

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from icpe.core.episode import StopReason
from icpe.evaluate.metrics import QUANTILES, Tally
from icpe.play.rollout import Ending

HORIZON = 6


def ending_of(queries, *, correct=None, reasons=None) -> Ending:
    """An ending whose hypothesis is 0 and whose recommendation is 0 where correct."""
    count = len(queries)
    correct = [True] * count if correct is None else correct
    reasons = [StopReason.EXPLORER] * count if reasons is None else reasons
    one = jnp.zeros(1, jnp.int32)
    ending = Ending(one, jnp.zeros(1), one, one, one, None)
    leaves = [
        np.array(queries, np.int32),
        np.array(queries, np.float32),
        np.array(reasons, np.int32),
        np.where(correct, 0, 1).astype(np.int32),
        np.zeros(count, np.int32),
    ]
    # As `run_episodes` hands them out: numpy leaves.
    return jax.tree.unflatten(jax.tree.structure(ending), leaves)


episodes = st.lists(st.integers(0, HORIZON), min_size=1, max_size=30)


@hypothesis.given(queries=episodes)
def test_the_figures_are_those_of_the_episodes(queries):
    tally = Tally.of(ending_of(queries), HORIZON)
    assert tally.episodes == len(queries)
    assert tally.mean_queries == pytest.approx(np.mean(queries))
    assert tally.max_queries == max(queries)
    assert tally.survival.tolist() == pytest.approx(
        [np.mean(np.array(queries) > t) for t in range(max(queries) + 1)]
    )


@hypothesis.given(queries=episodes, probability=st.sampled_from(QUANTILES))
def test_a_quantile_is_the_inverse_of_the_empirical_distribution(queries, probability):
    tally = Tally.of(ending_of(queries), HORIZON)
    expected = np.quantile(queries, probability, method="inverted_cdf")
    assert tally.quantile(probability) == expected


@hypothesis.given(first=episodes, second=episodes)
def test_tallies_of_two_parts_add_up_to_that_of_the_whole(first, second):
    parts = [
        Tally.of(ending_of(part, correct=[q % 2 == 0 for q in part]), HORIZON)
        for part in (first, second)
    ]
    both = first + second
    whole = Tally.of(ending_of(both, correct=[q % 2 == 0 for q in both]), HORIZON)
    total = parts[0] + parts[1]
    assert total.num_correct == whole.num_correct
    assert total.total_cost == pytest.approx(whole.total_cost)
    np.testing.assert_array_equal(total.query_counts, whole.query_counts)
    np.testing.assert_array_equal(total.stop_counts, whole.stop_counts)


def test_only_the_reasons_that_occurred_are_named():
    reasons = [StopReason.EXPLORER, StopReason.HORIZON, StopReason.EXPLORER]
    tally = Tally.of(ending_of([1, 6, 2], reasons=reasons), HORIZON)
    assert tally.stop_reasons == {"explorer": 2, "horizon": 1}


def test_one_episode_tells_nothing_about_the_mean_but_its_range():
    tally = Tally.of(ending_of([2]), HORIZON)
    assert tally.mean_queries_interval == (0.0, HORIZON)
    # With one success in one trial, low^1 = 0.025.
    assert tally.accuracy_interval == pytest.approx((0.025, 1.0))
