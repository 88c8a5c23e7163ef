from typing import Any

import jax
import numpy as np
import pytest
from scipy import integrate

from icpe.core.errors import OperatingPointError
from icpe.evaluate.limits import is_every_task, limits
from icpe.families import (
    BernoulliBandit,
    BinarySearch,
    DeterministicBandit,
    FeedbackGraph,
    GaussianBandit,
    MagicAction,
    MagicChain,
    MagicRoom,
    NoisyBinarySearch,
    ShiftedGaussianBandit,
    TwoPullBandit,
)
from icpe.theory.finite_dynamic_program import solve_error_prob
from icpe.theory.noisy_search import noisy_search_model
from support.toy_tasks import TwoDoors

KL = 0.8 * np.log(9)
"""kl(0.1, 0.9)."""


def found(family, error_prob=None, **options) -> dict[str, Any]:
    """The limits of a family, of which a test knows that they are numbers."""
    return dict(limits(family, error_prob, **options))


def test_binary_search_has_its_exact_optimum():
    known = limits(BinarySearch(size=8), 0.01)
    assert known == {"mean_queries": 2.125, "max_queries": 3}


def test_all_revealed_arms_must_be_tried():
    known = limits(DeterministicBandit(num_arms=7))
    assert known == {"mean_queries": 7.0, "max_queries": 7}
    some = DeterministicBandit(num_arms=7, vary_arms=True, fewest_arms=4)
    assert limits(some) == {"mean_queries": 5.5, "max_queries": 7}


@pytest.mark.parametrize("family", [TwoDoors(), MagicRoom(), MagicChain(noise=0.1)])
def test_a_family_without_limits_has_none(family):
    assert limits(family, 0.1) == {"mean_queries": None, "max_queries": None}


@pytest.mark.parametrize("error_prob", [0.0, 1.0, float("nan")])
def test_an_impossible_error_probability_is_refused(error_prob):
    with pytest.raises(OperatingPointError, match="error_prob must lie"):
        limits(BinarySearch(), error_prob)


def test_two_gaussian_arms_have_the_mean_of_the_closed_form():
    """T* = 8 noise^2 / gap^2, and the gap is 0.4 more than that of two uniforms."""
    family = GaussianBandit(num_arms=2, max_mean=2.4)
    known = found(family, 0.1)
    mean = integrate.quad(lambda d: 2 / (0.4 + d) ** 2 * (2 - d) / 2, 0, 2)[0]
    error = known["characteristic_time_standard_error"]
    # Five standard errors: false alarm 6e-7.
    assert known["characteristic_time_mean"] == pytest.approx(mean, abs=5 * error)
    assert error < 0.05 * mean
    assert known["correct_on_every_task_mean_queries"] == pytest.approx(
        KL * known["characteristic_time_mean"], rel=1e-5
    )
    median = 2 - np.sqrt(2)  # of |u - v| on [0, 2]
    assert known["characteristic_time_median"] == pytest.approx(
        2 / (0.4 + median) ** 2, rel=0.25
    )
    # Two arms: 2 noise^2 kl / max(0.4^2, gap^2) is the lower side, kl / 2 gap^2.
    lower = known["correct_on_every_task_known_gap_lower"]
    assert lower == pytest.approx(
        known["correct_on_every_task_mean_queries"] / 4, rel=1e-4
    )
    assert lower < known["correct_on_every_task_known_gap_upper"]


def test_seeds_draw_other_tasks_and_arms_that_are_not_there_do_not_count():
    fixed = GaussianBandit(num_arms=2, max_mean=2.4)
    padded = GaussianBandit(num_arms=4, max_mean=2.4, vary_arms=True, most_arms=2)
    one, other = (found(family) for family in (fixed, padded))
    error = 5 * np.hypot(
        *(x["characteristic_time_standard_error"] for x in (one, other))
    )
    assert one["characteristic_time_mean"] == pytest.approx(
        other["characteristic_time_mean"], abs=error
    )
    assert found(fixed, seed=1) != one == found(fixed, seed=0)


@pytest.mark.parametrize(
    "family",
    [
        GaussianBandit(num_arms=2, min_gap=0.0),
        ShiftedGaussianBandit(num_arms=2, min_gap=0.0, shift_kl=0.01),
        BernoulliBandit(num_arms=2),
    ],
)
def test_a_mean_that_is_infinite_is_left_out(family):
    known = found(family, 0.1)
    assert known["characteristic_time_mean"] is None
    assert known["correct_on_every_task_standard_error"] is None
    assert np.isfinite(known["correct_on_every_task_median_queries"])


def test_nothing_is_needed_from_one_half_on():
    known = found(GaussianBandit(num_arms=2, max_mean=2.4), 0.6)
    assert known["correct_on_every_task_mean_queries"] == 0.0
    assert known["correct_on_every_task_known_gap_upper"] == 0.0


def test_a_batch_of_visitors_is_one_query():
    one, four = (
        found(BernoulliBandit(num_arms=2, min_gap=0.1, batch_size=size))
        for size in (1, 4)
    )
    assert four["characteristic_time_mean"] == pytest.approx(
        one["characteristic_time_mean"] / 4
    )


@pytest.mark.slow
def test_the_graph_of_single_arms_has_the_closed_form_of_equal_gaps():
    """One best of three: T* = 2 noise^2 (1 + sqrt(2))^2 / gap^2, in every task."""
    matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    known = found(
        FeedbackGraph(kind="matrix", num_arms=3, matrix=matrix, prior="one-best")
    )
    truth = 2 * 0.2**2 * (1 + np.sqrt(2)) ** 2 / 0.5**2
    assert known["characteristic_time_mean"] == pytest.approx(truth, rel=1e-3)
    assert known["characteristic_time_median"] == pytest.approx(truth, rel=1e-3)
    assert known["characteristic_time_standard_error"] == 0.0


def test_the_magic_chain_has_both_optima():
    known = found(MagicChain(num_arms=10, num_magic=4), 0.01)
    assert known["mean_queries"] == pytest.approx(3.971, abs=1e-3)
    assert known["paper_expression"] == pytest.approx(3.476, abs=1e-3)
    assert known["bayes_mean_queries"] == pytest.approx(3.71, abs=0.01)
    assert known["max_queries"] is None
    mixed = found(MagicChain(vary_magic=True, fewest_magic=4, most_magic=5))
    assert mixed["mean_queries"] == pytest.approx((3.971 + 4.071) / 2, abs=1e-3)
    assert "bayes_mean_queries" not in mixed


def test_the_two_pull_bandit_needs_two_or_very_many():
    known = found(TwoPullBandit(num_arms=7), 0.1)
    assert (known["mean_queries"], known["max_queries"]) == (2.0, 2)
    assert known["without_arm_zero_mean_queries"] > 30


def test_noisy_search_needs_no_less_than_its_bound():
    family = NoisyBinarySearch(size=3, noise=0.1)
    bound = found(family, 0.2)["fano_mean_queries"]
    with jax.enable_x64(True):
        optimum = solve_error_prob(noisy_search_model(3, 0.1), 0.2, max_queries=4)
    assert 0.5 < bound <= optimum.mean_cost
    assert found(NoisyBinarySearch(size=8, noise=0.0))["mean_queries"] == 2.125
    assert found(family, 0.9)["fano_mean_queries"] == 0.0


def test_only_bounds_of_every_task_are_marked_so():
    names = set(found(GaussianBandit(num_arms=2, max_mean=2.4), 0.1))
    marked = {name for name in names if is_every_task(name)}
    assert names - marked == {"mean_queries", "max_queries"}


@pytest.mark.slow
def test_the_magic_action_has_the_mean_of_its_theorem():
    """7.97 at magic noise 0.7 and error probability 0.1, from another program."""
    known = found(MagicAction(num_arms=5, magic_noise=0.7), 0.1)
    error = known["correct_on_every_task_standard_error"]
    # The other value has about the same error: 5 standard errors, false alarm 6e-7.
    assert known["correct_on_every_task_mean_queries"] == pytest.approx(
        7.97, abs=5 * np.sqrt(2) * error
    )
    assert error < 0.4
    clear = found(MagicAction(magic_noise=0.0))
    assert (clear["mean_queries"], clear["max_queries"]) == (1.0, 1)
    noisy = found(MagicAction(vary_noise=True, lowest_noise=1.0))
    assert (noisy["mean_queries"], noisy["max_queries"]) == (4.0, 4)
